"""One stage that takes most of the time: where to look first."""

from __future__ import annotations

from collections.abc import Iterable

from agent.feedback.case import Case
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.dsl.knobs import knob_rows

_SHARE = 0.6


class HotStage(Tool):
    """A stage of over 60 percent of the stage time (ours), of several."""

    name = "hot-stage"
    title = "One stage dominates"
    general = "Work on the part that takes the time; the others cannot give more than their share."

    def trigger(self, case: Case) -> Sight | None:
        """By the stage times."""
        total = sum(case.seconds.values())
        if total <= 0 or len(case.seconds) < 2:
            return None
        name, seconds = max(case.seconds.items(), key=lambda item: item[1])
        if seconds / total <= _SHARE:
            return None
        stage = next((each for each in case.running if each.name == name), None)
        return Sight((f"{name} takes {seconds / total:.0%} of the stage time",), stage, None, seconds / total)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """All the others together, made free."""
        others = 1 / sight.value
        return Judgement(
            Severity.NOTE,
            f"All other stages together cannot give more than {others:.2f}x, even if they took no time.",
        )

    def recommend(self, case: Case, sight: Sight) -> Iterable[Advice]:
        """Its knobs by name."""
        if sight.stage is None:
            return ()
        names = ", ".join(knob_rows(sight.stage.op, case.evidence.target))
        return [Advice(f"Change {sight.stage.name} ({sight.stage.op}) first; its knobs: {names or 'none'}.")]
