"""Warps that wait for the others of their block."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, at_memory_roof, is_product, stall_share, tensor_cores_fed
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import percent
from kernels.profiling.record import KernelProfile

_SHARE, _CRITICAL = 0.3, 0.6


class Barrier(Tool):
    """Over 30 percent of a warp's time at barriers, with neither tensor cores nor memory busy to their limit."""

    name = "barrier"
    title = "Barrier stalls"
    classes = frozenset({Bottleneck.LATENCY, Bottleneck.COMPUTE, Bottleneck.MIXED, Bottleneck.MEMORY})
    general = "Smaller blocks, warps that do not need each other's data, or work between arriving and waiting."

    def trigger(self, case: Case) -> Sight | None:
        """By the profile."""
        kernel = case.first(_waiting)
        if kernel is None:
            return None
        share = stall_share(kernel, "barrier") or 0.0
        return Sight(
            (f"{percent(share * 100)} of a warp's time at a barrier",), case.stage_of(kernel), kernel, share
        )

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Large blocks wait for their slowest warp."""
        severity = Severity.CRITICAL if sight.value >= _CRITICAL else Severity.WARNING
        block = 1
        for extent in sight.kernel.launch.block if sight.kernel is not None else ():
            block *= extent
        return Judgement(severity, f"Warps of a block of {block} threads wait for its slowest.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Smaller groups that wait for each other."""
        stage = sight.stage
        if is_product(stage):
            yield from case.knob(
                stage, "schedule", [("pingpong",)], "Two warp groups take turns and share no barrier."
            )
            yield from case.knob(stage, "warps", [(2, 2), (2, 1), (1, 2)], "Fewer warps wait for each other.")
            yield from case.knob(
                stage, "stages", [(4,), (5,), (3,)], "With more tiles in flight loads end in time."
            )
        else:
            yield from case.knob(stage, "threads", [(128,), (64,), (32,)], "Fewer warps to a row or a block.")


def _waiting(kernel: KernelProfile) -> bool:
    busy = tensor_cores_fed(kernel) or at_memory_roof(kernel)
    return not busy and (stall_share(kernel, "barrier") or 0.0) > _SHARE
