"""Loads that miss L1 while warps wait for them: threads side by side do not read bytes side by side."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import MOVING, ROWS, Case, at_memory_roof, stall_share
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import percent
from kernels.profiling.record import KernelProfile

_HIT_PCT, _STALLED = 30.0, 0.4
_CRITICAL = 0.6
_WHOLE_SECTOR = 28.0
"""Bytes used of a sector's 32 from which on loads are in order: what is read once misses L1 in any order."""


class Coalescing(Tool):
    """L1 hits under 30 percent, over 40 percent of a warp's time waiting for global memory, and sectors half used."""

    name = "coalescing"
    title = "Uncoalesced access"
    classes = frozenset({Bottleneck.MEMORY, Bottleneck.LATENCY, Bottleneck.MIXED})
    general = "Let neighbouring threads read neighbouring addresses, or stage the tile through shared memory first."

    def trigger(self, case: Case) -> Sight | None:
        """By the profile."""
        kernel = case.first(_missing)
        if kernel is None:
            return None
        stalled, hit = _stalled(kernel), kernel.memory.l1_hit_pct or 0.0
        seen = (f"L1 hit rate {percent(hit)}", f"{percent(stalled * 100)} of a warp's time waits for global memory")
        return Sight(seen, case.stage_of(kernel), kernel, stalled)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Graver the longer warps wait."""
        severity = Severity.CRITICAL if sight.value >= _CRITICAL else Severity.WARNING
        return Judgement(
            severity, "Global loads miss L1 and warps wait for them: accesses of a warp are spread out."
        )

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Wider loads, then operands that lie in the order in which they are read."""
        stage = sight.stage
        if stage is None:
            return
        if stage.op in (*MOVING, *ROWS):
            yield from case.knob(
                stage, "vector", [(8,), (4,), (2,)], "One load of a thread takes more of a sector."
            )
        if stage.op == "conv":
            yield from case.knob(stage, "layout", [("channels_last",)], "Channels innermost are read in order.")
        if any(not value.contiguous for value in stage.operands):
            yield from case.structure(
                "relayout", stage, "An operand is read across its rows: lay it out as it is read."
            )


def _missing(kernel: KernelProfile) -> bool:
    hit, loads = kernel.memory.l1_hit_pct, kernel.memory.load_requests
    used = kernel.memory.load_bytes_per_sector
    in_order = (used is not None and used >= _WHOLE_SECTOR) or at_memory_roof(kernel)
    return hit is not None and hit < _HIT_PCT and bool(loads) and not in_order and _stalled(kernel) > _STALLED


def _stalled(kernel: KernelProfile) -> float:
    return stall_share(kernel, "long_scoreboard", "lg_throttle") or 0.0
