"""sm_90a: other tiles for a product."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.move import Move, Scene, knob_move
from agent.proposers.moves.sm90_product import Tiling, on_card

_SIDES = ((64, 64), (64, 128), (64, 256), (128, 64), (128, 128), (128, 192), (128, 256), (256, 64), (256, 128))


def moves(scene: Scene) -> Iterator[Move]:
    """The usual M×N sides at the present K, and K doubled and halved."""
    for stage in on_card(scene):
        now = Tiling.of(stage)
        m, n, k = now.tile
        tiles = [(*sides, k) for sides in _SIDES] + [(m, n, 2 * k), (m, n, k // 2)]
        for tile in tiles:
            if tile != now.tile and tile[2]:
                gain, words = now.better(tile=tile)
                yield knob_move(stage, "tile", tile, words, gain=gain, relieves="compute", implementation_risk=1.1)
