"""Time in which the card has nothing to do between kernels, or before the first."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.fusable import fusable
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import percent

_SHARE, _CRITICAL = 0.2, 0.5


class Launches(Tool):
    """Over 20 percent of a call's time in no kernel, by the card's own record."""

    name = "launches"
    title = "Launch overhead"
    general = "Fewer and larger kernels: fuse neighbours, or capture the calls in a CUDA graph."

    def trigger(self, case: Case) -> Sight | None:
        """By the activity of the timed calls; on the host there is none."""
        activity, time_s = case.evidence.activity, case.evidence.time_s
        if activity is None or not time_s or activity.sum_s <= 0:
            return None
        idle = 1 - activity.sum_s / time_s
        if idle <= _SHARE:
            return None
        seen = (
            f"{activity.launches:g} launches a call",
            f"{activity.sum_s * 1e6:.3g} of {time_s * 1e6:.3g} µs in kernels, copies and fills",
        )
        return Sight(seen, None, None, idle)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """If nothing were between the kernels."""
        severity = Severity.CRITICAL if sight.value >= _CRITICAL else Severity.WARNING
        activity, time_s = case.evidence.activity, case.evidence.time_s
        # The trigger saw both.
        assert activity is not None
        assert time_s is not None
        cause = f"{percent(sight.value * 100)} of the call the card waits for its next kernel."
        sum_words = f"all in kernels: {time_s * 1e6:.3g} µs / {activity.sum_s * 1e6:.3g} µs"
        return Judgement(severity, cause, time_s / activity.sum_s, sum_words)

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Fewer stages."""
        for stage, _ in fusable(case):
            yield from case.structure("fuse", stage, "One launch less, and its operand stays in registers.")
        for stage in case.running:
            if stage.op == "torch":
                yield from case.structure(
                    "replace", stage, "A library call is several launches: a stage of its own is one."
                )
