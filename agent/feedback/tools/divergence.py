"""Warps in which few threads take part in an instruction."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, is_product
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.record import KernelProfile

_FEW, _CRITICAL = 24.0, 12.0
_WARP = 32


class Divergence(Tool):
    """Under 24 of 32 threads in an instruction, on average (ours)."""

    name = "divergence"
    title = "Divergent warps"
    general = "Keep a warp's threads on one branch, and give each of them as much to do: whole warps of work."

    def trigger(self, case: Case) -> Sight | None:
        """By the profile."""
        kernel = case.first(lambda each: _threads(each) < _FEW)
        if kernel is None:
            return None
        seen = f"{_threads(kernel):.3g} of {_WARP} threads take part in an instruction"
        return Sight((seen,), case.stage_of(kernel), kernel, _threads(kernel))

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """The issue slots of the others are lost."""
        severity = Severity.CRITICAL if sight.value < _CRITICAL else Severity.WARNING
        return Judgement(severity, "Part of each warp sits out: rows are shorter than the threads given to them.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Fewer threads for each row, or elements that fill them."""
        if not is_product(sight.stage):
            yield from case.knob(
                sight.stage, "threads", [(32,), (64,), (128,)], "No more threads than a row has work for."
            )
            yield from case.knob(
                sight.stage, "vector", [(1,), (2,)], "Narrower accesses spread a short row over threads."
            )


def _threads(kernel: KernelProfile) -> float:
    threads = kernel.schedule.threads_per_instruction
    return _WARP if threads is None else threads
