"""One measured candidate beside its bounds: where its time stands, its guarded score, what its gap is made of."""

from __future__ import annotations

from dataclasses import dataclass

from sol.bounds.record import Bounds
from sol.bounds.score import SolScoreWithheld, sol_score
from sol.gap.breakdown import break_down
from sol.gap.evidence import Evidence
from sol.gap.record import Factor, Gap
from sol.gap.standing import TimeStanding, standing_of


@dataclass(frozen=True, slots=True)
class Assessment:
    """Times in seconds. ``score`` is against torch eager of the same call; where it is None, ``score_withheld`` says
    why. ``gap``, ``factors`` and ``remainder`` are those of ``sol.gap.record.Gap``; for a time below the floor, which
    is under review, there are none."""

    device: str
    sol_s: float
    floor_s: float
    standing: TimeStanding
    words: str
    score: float | None
    score_withheld: str
    gap: float | None
    factors: tuple[Factor, ...]
    remainder: float | None

    @property
    def breakdown(self) -> Gap | None:
        """The gap in factors; None for a time that does not count."""
        return None if self.gap is None or self.remainder is None else Gap(self.gap, self.factors, self.remainder)


def assess(evidence: Evidence | None) -> Assessment | None:
    """None where there is no bound or no time."""
    if evidence is None:
        return None
    bounds, standing = (
        evidence.bounds,
        standing_of(evidence.time_s, evidence.bounds.floor_s, evidence.bounds.steering_s),
    )
    score = score_of(evidence.time_s, evidence.eager_s, bounds, standing)
    found = break_down(evidence) if standing.counts else None
    return Assessment(
        device=bounds.device,
        sol_s=bounds.steering_s,
        floor_s=bounds.floor_s,
        standing=standing,
        words=standing.sentence,
        score=score if isinstance(score, float) else None,
        score_withheld=score if isinstance(score, str) else "",
        gap=found.gap if found is not None else None,
        factors=found.factors if found is not None else (),
        remainder=found.remainder if found is not None else None,
    )


def score_of(time_s: float, baseline_s: float | None, bounds: Bounds, standing: TimeStanding) -> float | str:
    """The SOL score, or why there is none, in words."""
    if standing.held:
        return standing.sentence
    if baseline_s is None:
        return "not measured: torch eager was not timed in the same call"
    found = sol_score(time_s, baseline_s, bounds.steering_s)
    return found.sentence if isinstance(found, SolScoreWithheld) else found
