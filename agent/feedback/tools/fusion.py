"""Tensors that one stage writes for the next one to read, though both could be one."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.fusable import fusable, intermediates
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import amount

_MOST_SAVED = 0.9
"""A larger share of the time cannot be in traffic alone: then cache kept it, and the sum would say too much."""
_CRITICAL = 1.2


class Fusion(Tool):
    """A map or cast that could join the stage whose result it alone reads."""

    name = "fusion"
    title = "Stages to fuse"
    classes = frozenset({Bottleneck.MEMORY, Bottleneck.LATENCY, Bottleneck.MIXED, Bottleneck.COMPUTE})
    general = "Do elementwise work on a tile while it is in registers, before it is stored."

    def trigger(self, case: Case) -> Sight | None:
        """By the program alone."""
        found = fusable(case)
        if not found:
            return None
        moved = sum(2 * value.elements * value.dtype.bytes for _, value in found)
        every = sum(2 * value.elements * value.dtype.bytes for value in intermediates(case))
        seen = (
            f"{len(found)} of {len(case.running)} stages could join the one before",
            f"{amount(moved)} of {amount(every)} between stages would not move",
        )
        return Sight(seen, found[0][0], None, moved)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """The bytes at the bound's copy rate, where they do not stay in a cache anyway."""
        cause = "A tensor is written by one stage and read back by the next alone."
        bounds, time_s, l2 = case.evidence.bounds, case.evidence.time_s, case.evidence.l2_bytes
        if bounds is None or not time_s or bounds.memory_s <= 0:
            return Judgement(Severity.WARNING, cause)
        largest = max(value.elements * value.dtype.bytes for _, value in fusable(case))
        saved = sight.value * bounds.memory_s / bounds.bytes
        if saved >= _MOST_SAVED * time_s or (l2 is not None and largest < l2):
            return Judgement(Severity.WARNING, cause)
        gain = time_s / (time_s - saved)
        words = f"{amount(sight.value)} at the copy rate are {saved * 1e3:.3g} of {time_s * 1e3:.3g} ms"
        return Judgement(Severity.CRITICAL if gain >= _CRITICAL else Severity.WARNING, cause, gain, words)

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Each of them, the largest first."""
        for stage, value in sorted(fusable(case), key=lambda found: -found[1].elements):
            bytes_ = 2 * value.elements * value.dtype.bytes
            yield from case.structure("fuse", stage, f"In the chain of {value.name}: {amount(bytes_)} less move.")
