"""Host: read a product's operands in place, pack B, or pack both."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.host_product import Blocking
from agent.proposers.moves.move import Move, Scene, knob_move
from kernels.targets import Target


def moves(scene: Scene) -> Iterator[Move]:
    """The other two settings of ``stages``."""
    if scene.started.target is not Target.HOST:
        return
    for stage in scene.stages("gemm", "bmm"):
        now = Blocking.of(scene, stage)
        for stages in (1, 2, 3):
            if stages != now.stages:
                gain, words = now.better(stages=stages)
                yield knob_move(
                    stage, "stages", (stages,), words, gain=gain, relieves="memory", performance_risk=1.3
                )
