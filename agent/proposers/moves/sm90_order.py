"""sm_90a: other orders in which a product's tiles are walked: raster direction and swizzle."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.move import Move, Scene, knob_move
from agent.proposers.moves.sm90_product import SMS, Tiling, on_card


def moves(scene: Scene) -> Iterator[Move]:
    """Both directions and swizzles of 1 to 8; of little use where all tiles are in flight at once."""
    for stage in on_card(scene):
        tiles = Tiling.of(stage).tiles
        gain = 1.05 if tiles > SMS else 0.98
        words = f"{tiles} tiles on {SMS} SMs: the order decides which operands are still in L2."
        for raster in ("m", "n"):
            if raster != stage.knobs["raster"]:
                yield knob_move(stage, "raster", (raster,), words, gain=gain, relieves="memory")
        for swizzle in (1, 2, 4, 8):
            if swizzle != stage.knobs["swizzle"]:
                yield knob_move(stage, "swizzle", (swizzle,), words, gain=gain, relieves="memory")
