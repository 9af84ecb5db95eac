"""How far a measured time is from its bounds, and the guarded SOL score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from sol.bounds.record import Bounds


class Withheld(StrEnum):
    """Why there is no score."""

    BELOW_BOUND = "below_bound"
    NO_HEADROOM = "no_headroom"
    NOT_MEASURED = "not_measured"


_SENTENCES = {
    Withheld.BELOW_BOUND: "below the bound: counts, without a score",
    Withheld.NO_HEADROOM: "no headroom: the baseline is at the bound already",
    Withheld.NOT_MEASURED: "not measured: a time is missing or is no positive number",
}


@dataclass(frozen=True, slots=True)
class SolScoreWithheld:
    """No number, and why. ``sentence`` is for people."""

    reason: Withheld

    @property
    def sentence(self) -> str:
        """The reason in words."""
        return _SENTENCES[self.reason]


def gap(time_s: float, bounds: Bounds) -> float:
    """A measured time as a multiple of the steering bound; infinite where that bound is zero."""
    return time_s / bounds.steering_s if bounds.steering_s > 0 else math.inf


def sol_score(time_s: float, baseline_s: float, sol_s: float) -> float | SolScoreWithheld:
    """``1 / (1 + (T_k − T_SOL)/(T_b − T_SOL))``: 0.5 at the baseline, 1 at the bound, towards 0 for slower kernels.

    Withheld where a time is no positive number, below the bound (the formula grows past 1 there and divides by zero
    at ``2·T_SOL − T_b``), and where the baseline leaves nothing to win.
    """
    if not all(math.isfinite(value) and value > 0 for value in (time_s, baseline_s, sol_s)):
        return SolScoreWithheld(Withheld.NOT_MEASURED)
    if time_s < sol_s:
        return SolScoreWithheld(Withheld.BELOW_BOUND)
    if baseline_s <= sol_s:
        return SolScoreWithheld(Withheld.NO_HEADROOM)
    return 1 / (1 + (time_s - sol_s) / (baseline_s - sol_s))
