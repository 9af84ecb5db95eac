"""The records of an audit: what a detector saw, where, how grave it would be, and how sure it is.

A flag is a question to a person and never a verdict. Its words quote names of a candidate at most, cut short; who
shows them escapes them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

from sol.audit.tricks import Trick

QUOTED = 80
"""Letters of a candidate's text that one quotation shows."""


class Severity(StrEnum):
    """How grave it is, if it is what it looks like. INFO is no reproach."""

    INFO = "info"
    SUSPECT = "suspect"
    SEVERE = "severe"

    @property
    def rank(self) -> int:
        """0 for info, 2 for severe."""
        return _RANKS[self]


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of the candidate's text, from 1, both inclusive."""

    first: int
    last: int

    @property
    def words(self) -> str:
        """``line 4`` or ``lines 4–9``."""
        return f"line {self.first}" if self.first == self.last else f"lines {self.first}–{self.last}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen: words, the lines it stands in, and the numbers it rests on, each with its unit in its name."""

    words: str
    places: tuple[Place, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)


class ImpossibleFlag(ValueError):
    """A flag without evidence, or with a confidence that is no share."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One finding of one detector. ``confidence`` is from 0 to 1, apart from ``severity``."""

    detector: str
    trick: Trick
    severity: Severity
    confidence: float
    evidence: Evidence

    def __post_init__(self) -> None:
        if not (math.isfinite(self.confidence) and 0 <= self.confidence <= 1):
            raise ImpossibleFlag(f"{self.detector}: a confidence of {self.confidence}")
        if not self.evidence.words:
            raise ImpossibleFlag(f"{self.detector}: no evidence")

    @property
    def gravity(self) -> tuple[int, float]:
        """For sorting: severity first, then confidence."""
        return self.severity.rank, self.confidence


def quoted(text: str) -> str:
    """A candidate's text on one line, cut to ``QUOTED`` letters, without control characters."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    plain = " ".join(plain.split())
    return plain if len(plain) <= QUOTED else f"{plain[: QUOTED - 1]}…"
