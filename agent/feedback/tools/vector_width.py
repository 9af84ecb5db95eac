"""Accesses narrower than a thread (or a core) could make them."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import ROWS, Case
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.dsl.ir import Stage

_CARD_BYTES = 16


class VectorWidth(Tool):
    """A ``vector`` of under 16 bytes on a card, or under a vector register on the host, where more is legal."""

    name = "vector-width"
    title = "Narrow vectors"
    classes = frozenset({Bottleneck.MEMORY, Bottleneck.LATENCY, Bottleneck.MIXED})
    general = "Load and store 16 bytes a thread (float4); on a CPU write loops that the compiler can vectorise."

    def trigger(self, case: Case) -> Sight | None:
        """By the knobs."""
        for stage in case.stages("map", "cast", *(ROWS if case.on_card else ())):
            if _wider(case, stage):
                taken = int(stage.knobs["vector"]) * stage.result.dtype.bytes
                seen = [f"{stage.name} takes {taken} B at once"]
                sass = case.evidence.sass
                if sass is not None and sass.global_loads:
                    seen.append(f"{sass.wide_loads} of {sass.global_loads} global loads in SASS are of 16 B")
                return Sight(tuple(seen), stage)
        return None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """More instructions for the same bytes."""
        return Judgement(
            Severity.WARNING, "Each access takes fewer bytes than it could, so there are more of them."
        )

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """The widest first."""
        assert sight.stage is not None
        yield from _wider(case, sight.stage)


def _wider(case: Case, stage: Stage) -> list[Advice]:
    now, size = int(stage.knobs.get("vector") or 0), stage.result.dtype.bytes
    least = _CARD_BYTES if case.on_card else 4 * case.simd.lanes
    if not now or now * size >= least:
        return []
    wider = [(each,) for each in (32, 16, 8, 4, 2) if now < each <= max(1, least // size)]
    return case.knob(stage, "vector", wider, "One access takes more of the row.", most=2)
