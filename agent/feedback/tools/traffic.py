"""More traffic with DRAM than the problem needs: something is read again that could have stayed in L2 or registers."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, is_product, scaled
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.fusable import fusable
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import BUSY_PCT, amount, percent
from kernels.profiling.record import KernelProfile

_OVER = 1.3
_CRITICAL = 2.0


class Traffic(Tool):
    """All kernels together move over 1.3 times the compulsory bytes (ours)."""

    name = "traffic"
    title = "Traffic above the minimum"
    classes = frozenset({Bottleneck.MEMORY, Bottleneck.MIXED})
    general = "Order the blocks so that neighbours share operands in L2, and fuse what only passes a tensor on."

    def trigger(self, case: Case) -> Sight | None:
        """Bytes of the whole call over those of the bound."""
        moved, bounds = [_moved(each) for each in case.kernels], case.evidence.bounds
        if not moved or None in moved or bounds is None or bounds.bytes <= 0:
            return None
        total = sum(each or 0.0 for each in moved)
        if total <= _OVER * bounds.bytes:
            return None
        kernel = max(case.hot, key=lambda each: _moved(each) or 0.0, default=None)
        seen = [f"{amount(total)} with DRAM, {amount(bounds.bytes)} are compulsory"]
        if kernel is not None and kernel.memory.l2_hit_pct is not None:
            seen.append(f"L2 hit rate {percent(kernel.memory.l2_hit_pct)}")
        stage = case.stage_of(kernel) if kernel is not None else None
        return Sight(tuple(seen), stage, kernel, total / bounds.bytes)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """The surplus is worth its share of the time where DRAM is what is busy."""
        severity = Severity.CRITICAL if sight.value >= _CRITICAL else Severity.WARNING
        cause = f"The kernels move {sight.value:.3g} times what the problem must move."
        busy = sight.kernel.speed.dram_pct if sight.kernel is not None else None
        if busy is None or busy < BUSY_PCT:
            return Judgement(severity, cause)
        return Judgement(severity, cause, sight.value, f"at DRAM's pace: {sight.evidence[0]}")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Fuse; then let blocks that run together share operands."""
        for consumer, operand in fusable(case):
            moved = 2 * operand.elements * operand.dtype.bytes
            yield from case.structure("fuse", consumer, f"{amount(moved)} less are written and read back.")
        stage = sight.stage
        if stage is None or not is_product(stage):
            return
        yield from case.knob(stage, "swizzle", [(8,), (4,)], "Blocks of one raster column share B in L2.")
        yield from case.knob(
            stage, "cluster", [(2, 1), (1, 2), (2, 2)], "Blocks of a cluster load an operand once."
        )
        yield from case.knob(
            stage, "tile", scaled(stage, "tile", (1, 2, 1), (2, 1, 1)), "A larger tile reads less."
        )


def _moved(kernel: KernelProfile) -> float | None:
    read, written = kernel.memory.dram_read_bytes, kernel.memory.dram_write_bytes
    return None if read is None or written is None else read + written
