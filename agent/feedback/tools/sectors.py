"""More sectors a request than its bytes need: part of each 32-byte sector is moved for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import MOVING, ROWS, Case
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import BUSY_PCT
from kernels.profiling.record import KernelProfile

_SECTOR_BYTES = 32.0
_OVER_IDEAL = 1.2
_CRITICAL = 2.0


class Sectors(Tool):
    """Sectors a request over 1.2 times what the bytes used would fill."""

    name = "sectors"
    title = "Half-used sectors"
    classes = frozenset({Bottleneck.MEMORY, Bottleneck.LATENCY, Bottleneck.MIXED})
    general = (
        "Align rows to 32 bytes and let a warp's threads take consecutive elements, 16 bytes each where it can."
    )

    def trigger(self, case: Case) -> Sight | None:
        """Loads or stores, whichever waste more."""
        kernel = case.first(lambda each: _over(each)[1] > _OVER_IDEAL)
        if kernel is None:
            return None
        what, over = _over(kernel)
        used = _SECTOR_BYTES / over
        seen = [f"{what}s use {used:.3g} of 32 bytes of a sector, {over:.3g}x the ideal number of sectors"]
        sectors = getattr(kernel.memory, f"{what}_sectors_per_request")
        if sectors:
            seen.append(f"{sectors:.3g} sectors a request")
        return Sight(tuple(seen), case.stage_of(kernel), kernel, over)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """What is moved for nothing can be won where memory is what is busy."""
        severity = Severity.CRITICAL if sight.value >= _CRITICAL else Severity.WARNING
        cause = "Threads of a warp touch parts of many sectors, and whole sectors are moved."
        kernel = sight.kernel
        if kernel is None or (kernel.speed.memory_pct or 0.0) < BUSY_PCT:
            return Judgement(severity, cause)
        return Judgement(severity, cause, *case.gain(case.kernel_share(kernel), sight.value))

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Wider accesses, or another memory order."""
        stage = sight.stage
        if stage is None:
            return
        if stage.op in (*MOVING, *ROWS):
            yield from case.knob(
                stage, "vector", [(8,), (4,), (2,)], "A thread takes neighbouring elements at once."
            )
        yield from case.knob(stage, "layout", [("channels_last",)], "Channels innermost fill whole sectors.")
        if any(not value.contiguous for value in stage.operands):
            yield from case.structure(
                "relayout", stage, "An operand is read across its rows: lay it out as it is read."
            )


def _over(kernel: KernelProfile) -> tuple[str, float]:
    """Which accesses waste most, and the sectors moved over those needed; 0 where nothing is known."""
    found = [("load", 0.0)]
    for what in ("load", "store"):
        used, requests = (getattr(kernel.memory, f"{what}_{name}") for name in ("bytes_per_sector", "requests"))
        if used and requests:
            found.append((what, _SECTOR_BYTES / used))
    return max(found, key=lambda entry: entry[1])
