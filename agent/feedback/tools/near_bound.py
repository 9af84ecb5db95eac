"""A candidate so near its bound that tuning has little left to give."""

from __future__ import annotations

from collections.abc import Iterable

from agent.feedback.case import Case
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool

_NEAR = 1.25


class NearBound(Tool):
    """Within a quarter of the steering bound."""

    name = "near-bound"
    title = "Near the speed of light"
    general = "Only a change of what is computed goes further: fewer bytes or operations, or a lower precision."

    def trigger(self, case: Case) -> Sight | None:
        """By time and bound."""
        bounds, time_s = case.evidence.bounds, case.evidence.time_s
        if bounds is None or not time_s or bounds.steering_s <= 0:
            return None
        gap = time_s / bounds.steering_s
        seen = f"{time_s * 1e3:.3g} ms against a bound of {bounds.steering_s * 1e3:.3g} ms"
        return Sight((seen,), None, None, gap) if gap <= _NEAR else None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """What is left at most."""
        arithmetic = f"at the bound: {sight.evidence[0]}"
        gain = sight.value if sight.value > 1 else None
        cause = f"It runs at {sight.value:.2f}x of the bound: knobs have little left to give."
        return Judgement(Severity.NOTE, cause, gain, arithmetic if gain else "")

    def recommend(self, case: Case, sight: Sight) -> Iterable[Advice]:
        """In general terms."""
        return ()
