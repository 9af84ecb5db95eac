"""Few warps a multiprocessor, in a kernel that needs them to hide its waiting."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import MOVING, ROWS, Case, is_product, scaled
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import percent
from kernels.profiling.record import KernelProfile

_LOW_PCT, _CRITICAL_PCT = 50.0, 25.0
_FED_PCT = 50.0
"""A warp-specialised product is built for few warps: while its tensor pipe is this busy, that is no fault."""
_GAP_PCT = 10.0


class Occupancy(Tool):
    """Achieved occupancy under 50 percent, unless tensor cores are well fed."""

    name = "occupancy"
    title = "Low occupancy"
    classes = frozenset({Bottleneck.LATENCY, Bottleneck.MEMORY, Bottleneck.MIXED, Bottleneck.COMPUTE})
    general = (
        "Use fewer registers or less shared memory a block (smaller tiles, fewer stages), or blocks of 128 to 256."
    )

    def trigger(self, case: Case) -> Sight | None:
        """By the profile."""
        kernel = case.first(_low)
        if kernel is None:
            return None
        o = kernel.occupancy
        seen = [f"occupancy {percent(o.achieved_pct or 0.0)}"]
        if o.theoretical_pct is not None:
            seen.append(f"{percent(o.theoretical_pct)} possible")
        if o.limiters:
            seen.append(f"held down by {' and '.join(o.limiters)}")
        return Sight(tuple(seen), case.stage_of(kernel), kernel, o.achieved_pct or 0.0)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Too few blocks, or blocks that take too much."""
        severity = Severity.CRITICAL if sight.value < _CRITICAL_PCT else Severity.WARNING
        if _few_blocks(sight):
            return Judgement(severity, "Fewer warps run than would fit: the blocks are too few, or uneven.")
        held = " and ".join(sight.kernel.occupancy.limiters) if sight.kernel is not None else ""
        return Judgement(severity, f"A block takes so much of the multiprocessor's {held or 'room'} that few fit.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """By what holds it down."""
        stage = sight.stage
        if stage is None:
            return
        held = sight.kernel.occupancy.limiters if sight.kernel is not None else ()
        if is_product(stage):
            smaller = scaled(stage, "tile", (1, 0.5, 1), (0.5, 1, 1), (0.5, 0.5, 1))
            if "shared memory" in held:
                yield from case.knob(
                    stage, "stages", [(3,), (2,)], "Fewer tiles of K in flight take less shared memory."
                )
            yield from case.knob(
                stage, "tile", smaller, "A smaller tile takes fewer registers and less shared memory."
            )
        elif stage.op in (*MOVING, *ROWS):
            yield from case.knob(
                stage, "threads", [(256,), (128,), (512,)], "Blocks of this size fill a multiprocessor."
            )
            if "registers" in held:
                yield from case.knob(
                    stage, "vector", [(4,), (2,), (1,)], "Fewer elements a thread take fewer registers."
                )


def _low(kernel: KernelProfile) -> bool:
    achieved = kernel.occupancy.achieved_pct
    return achieved is not None and achieved < _LOW_PCT and (kernel.pipes.tensor_pct or 0.0) < _FED_PCT


def _few_blocks(sight: Sight) -> bool:
    possible = sight.kernel.occupancy.theoretical_pct if sight.kernel is not None else None
    return possible is not None and possible - sight.value >= _GAP_PCT
