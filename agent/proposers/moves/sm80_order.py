"""sm_80: the order in which a product's tiles are walked, and K divided among blocks where tiles are few."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.move import Move, Scene, knob_move
from agent.proposers.moves.sm80_product import SMS, Tiling, on_ampere

_LEAST_DEPTH = 256
"""Elements of K of a part below which adding the parts costs more than it saves."""


def moves(scene: Scene) -> Iterator[Move]:
    """Swizzles of 1 to 8; two to sixteen parts of K, and stream-K, where a product may be divided."""
    for stage in on_ampere(scene):
        now = Tiling.of(stage)
        words = f"{now.tiles} blocks on {SMS} SMs: the order decides which operands are still in L2."
        for swizzle in (1, 2, 4, 8):
            if swizzle != stage.knobs["swizzle"]:
                gain = 1.03 if now.tiles > SMS else 0.98
                yield knob_move(stage, "swizzle", (swizzle,), words, gain=gain, relieves="memory")
        if stage.op != "gemm":
            continue
        for split in (1, 2, 4, 8, 16):
            if split != now.split and (split == 1 or now.k // split >= _LEAST_DEPTH):
                gain, words = now.better(split=split)
                yield knob_move(
                    stage, "split", (split,), words, gain=gain, relieves="compute", performance_risk=1.3
                )
        if not now.streams and now.split == 1:
            gain, words = now.better(streams=True)
            yield knob_move(stage, "schedule", ("streamk",), words, gain=gain, relieves="compute")
