"""Host: split a product's K among cores where the result has too few register tiles for them."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.host_product import Blocking
from agent.proposers.moves.move import Move, Scene, knob_move
from kernels.targets import Target


def moves(scene: Scene) -> Iterator[Move]:
    """Two, four and as many parts as there are cores, each with at least 64 steps of K, and one."""
    if scene.started.target is not Target.HOST:
        return
    for stage in scene.stages("gemm", "bmm"):
        now = Blocking.of(scene, stage)
        for split in sorted({1, 2, 4, now.cores} - {now.split}):
            if split == 1 or now.k // split >= 64:
                gain, words = now.better(split=split)
                yield knob_move(
                    stage, "split", (split,), words, gain=gain, relieves="compute", performance_risk=1.4
                )
