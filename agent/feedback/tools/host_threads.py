"""Host: a large stage on few cores, or a tiny one on many."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import MOVING, PRODUCTS, ROWS, Args, Case, host
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.dsl.ir import Stage

_LARGE, _SMALL = 1 << 16, 1 << 12
"""Elements from which all cores pay, and below which waking them costs more than the work (ours)."""


class HostThreads(Tool):
    """A ``threads`` knob that leaves cores idle at a large stage, or wakes them for a small one."""

    name = "host-threads"
    title = "Cores left idle"
    general = "Give every core a share of the long loops, and none of the short ones."

    def trigger(self, case: Case) -> Sight | None:
        """By the knobs and the sizes."""
        cores = case.evidence.units or 0
        if not host(case) or cores < 2:
            return None
        for stage in case.stages(*PRODUCTS, *MOVING, *ROWS):
            threads = min(int(stage.knobs.get("threads") or cores), cores)
            if threads < cores and _work(stage) >= _LARGE:
                return Sight((f"{stage.name} runs on {threads} of {cores} cores",), stage, None, cores / threads)
            if threads > 1 and _work(stage) < _SMALL:
                seen = f"{stage.name} wakes {threads} cores for {_work(stage):,} elements"
                return Sight((seen,), stage, None, 0.0)
        return None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Cores that share the work divide its time at best."""
        if not sight.value:
            return Judgement(Severity.NOTE, "Waking threads takes longer than the work that they share.")
        cause = "Cores sit idle during a stage large enough for all of them."
        return Judgement(Severity.CRITICAL, cause, *case.gain(case.share(sight.stage), sight.value))

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """All cores, or one."""
        if sight.value:
            every: list[Args] = [(int(case.evidence.units or 1),), ("auto",)]
            yield from case.knob(sight.stage, "threads", every, "Every core takes a share.")
        else:
            yield from case.knob(sight.stage, "threads", [(1,)], "The caller does it alone.")


def _work(stage: Stage) -> int:
    """Elements of the result, of a product multiply-adds over 64."""
    largest = max(value.elements for value in (*stage.operands, *stage.results))
    if stage.op in ("gemm", "bmm"):
        depth = int(stage.attributes["k"])
        return max(largest, stage.result.elements * depth // 64)
    return largest
