"""sm_80: other tiles for a product, and other warps to share one."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.move import Move, Scene, knob_move
from agent.proposers.moves.sm80_product import Tiling, on_ampere

_SIDES = ((64, 64), (64, 128), (64, 256), (128, 64), (128, 128), (128, 256), (256, 64), (256, 128))
_WARPS = ((2, 2), (1, 4), (4, 1), (2, 4), (4, 2))


def moves(scene: Scene) -> Iterator[Move]:
    """The usual M×N sides at the present K, K doubled and halved, and the usual four or eight warps."""
    for stage in on_ampere(scene):
        now = Tiling.of(stage)
        m, n, k = now.tile
        for tile in [*((*sides, k) for sides in _SIDES), (m, n, 2 * k), (m, n, k // 2)]:
            if tile != now.tile and tile[2]:
                gain, words = now.better(tile=tile)
                yield knob_move(stage, "tile", tile, words, gain=gain, relieves="compute", implementation_risk=1.1)
        for warps in _WARPS:
            if warps != now.warps:
                gain, words = now.better(warps=warps)
                yield knob_move(
                    stage, "warps", warps, words, gain=gain, relieves="compute", implementation_risk=1.1
                )
