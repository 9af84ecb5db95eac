"""Where a measured time stands beside its two bounds, and why one is held: the rule by which a time counts.

Every best, mean, speedup, order, chart, event and budget asks here. It decides nothing about why a time is too
short: that is a person's to settle. What a person settled (``sol.models.Case``) goes before the bounds.
"""

from __future__ import annotations

import math
from enum import StrEnum

SUSPECT_BELOW = 0.1
"""A time shorter than the floor by more than this share is suspect: the ceiling detector's tolerance. Shorter by
less, it may be the clock or the peaks it rests on; it is under review all the same."""


class TimeStanding(StrEnum):
    """One time beside its bounds, the best news last."""

    NOT_MEASURED = "not_measured"
    SUSPECT = "suspect"
    BELOW_FLOOR = "below_floor"
    BELOW_BOUND = "below_bound"
    UNBOUNDED = "unbounded"
    NORMAL = "normal"

    @property
    def counts(self) -> bool:
        """Whether the time may be a best, enter a mean or be drawn as reached. Below the steering bound it may: that
        bound is the reference's own algorithm, which a better one beats. Below the floor it may not."""
        return self not in _HELD

    @property
    def held(self) -> bool:
        """Whether there is a time, and it waits for a person."""
        return self in (TimeStanding.SUSPECT, TimeStanding.BELOW_FLOOR)

    @property
    def sentence(self) -> str:
        """For people; empty where nothing is to be said."""
        return _SENTENCES[self]


_HELD = frozenset({TimeStanding.NOT_MEASURED, TimeStanding.SUSPECT, TimeStanding.BELOW_FLOOR})
_SENTENCES = {
    TimeStanding.NOT_MEASURED: "not measured",
    TimeStanding.SUSPECT: f"suspect: more than {100 * SUSPECT_BELOW:.0f} % below the floor; under review, not counted",
    TimeStanding.BELOW_FLOOR: "below the floor: under review, not counted",
    TimeStanding.BELOW_BOUND: "below the bound: counts, without a score",
    TimeStanding.UNBOUNDED: "",
    TimeStanding.NORMAL: "",
}


class Held(StrEnum):
    """Why a time does not count. No member stands for a time that does: that is the empty string in rows."""

    FLOOR = "floor"
    FLAGGED = "flagged"
    HACKED = "hacked"
    BUG = "bug"

    @property
    def word(self) -> str:
        """What stands in an outcome's place."""
        return _HELD_WORDS[self]

    @property
    def sentence(self) -> str:
        """For people."""
        return _HELD_SENTENCES[self]


_HELD_WORDS = {
    Held.FLOOR: "below the floor",
    Held.FLAGGED: "flagged",
    Held.HACKED: "gamed",
    Held.BUG: "bug",
}
_HELD_SENTENCES = {
    Held.FLOOR: "below the floor: under review, not counted",
    Held.FLAGGED: "an open severe flag: under review, not counted",
    Held.HACKED: "settled as gamed: not counted",
    Held.BUG: "settled as a bug: not counted",
}


def told(held: str, time_s: float | None, floor_s: float | None, sol_s: float | None = None) -> str:
    """What is to be said of a time: why it is held, else where it stands; empty where nothing is."""
    standing = standing_of(time_s, floor_s, sol_s)
    if held:
        return standing.sentence if standing.held and held == Held.FLOOR else Held(held).sentence
    return "below the floor, settled as honest" if standing.held else standing.sentence


def standing_of(time_s: float | None, floor_s: float | None, sol_s: float | None = None) -> TimeStanding:
    """The standing of a time in seconds; a bound that is None or not positive says nothing."""
    if time_s is None or not math.isfinite(time_s) or time_s <= 0:
        return TimeStanding.NOT_MEASURED
    if floor_s is not None and time_s < floor_s:
        return TimeStanding.SUSPECT if time_s < floor_s * (1 - SUSPECT_BELOW) else TimeStanding.BELOW_FLOOR
    if sol_s is None or sol_s <= 0:
        return TimeStanding.UNBOUNDED
    return TimeStanding.BELOW_BOUND if time_s < sol_s else TimeStanding.NORMAL


def counted(time_s: float | None, floor_s: float | None) -> float | None:
    """The time where it counts, else None."""
    return time_s if standing_of(time_s, floor_s).counts else None
