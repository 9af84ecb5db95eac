"""The records of a gap: its factors, each with what it was seen by, and the one remainder."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class FactorName(StrEnum):
    """What a gap can be made of, in the order in which it is told."""

    CLOCK = "clock"
    LAUNCHES = "launches"
    IDLE = "idle"
    TRAFFIC = "traffic"
    INSIDE = "inside"


TITLES = {
    FactorName.CLOCK: "Clock under load",
    FactorName.LAUNCHES: "Outside of kernels",
    FactorName.IDLE: "Units without work",
    FactorName.TRAFFIC: "Bytes beyond the minimum",
    FactorName.INSIDE: "Inside the kernels",
}
REMAINDER_TITLE = "Not told apart"


class ImpossibleGap(ValueError):
    """A record that contradicts itself, as a factor of zero."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One part of a gap: a time is ``value`` times as long because of it. None: not known, and ``words`` say why.

    ``words`` hold the figures it rests on with their units; ``seen_in`` names the records they came from, empty where
    there were none. Below 1 it is a gain over what the bound takes for granted, as a higher clock.
    """

    name: FactorName
    value: float | None
    words: str
    seen_in: str = ""

    def __post_init__(self) -> None:
        if self.value is not None and not (math.isfinite(self.value) and self.value > 0):
            raise ImpossibleGap(f"{self.name.value}: a factor of {self.value}")
        if not self.words:
            raise ImpossibleGap(f"{self.name.value}: neither evidence nor a reason")

    @property
    def title(self) -> str:
        """Its name for people."""
        return TITLES[self.name]


@dataclass(frozen=True, slots=True)
class Gap:
    """A measured time over the steering bound. The known factors times ``remainder`` are ``gap``.

    ``remainder`` is everything that the records do not tell apart. Where it is below 1, the factors overlap: a time
    was counted under two of them.
    """

    gap: float
    factors: tuple[Factor, ...]
    remainder: float

    @classmethod
    def of(cls, gap: float, factors: Iterable[Factor]) -> Gap:
        """With what is left as the remainder. Raises ImpossibleGap of a gap that is no positive number."""
        if not (math.isfinite(gap) and gap > 0):
            raise ImpossibleGap(f"a gap of {gap}")
        kept = tuple(factors)
        return cls(gap, kept, gap / math.prod(factor.value for factor in kept if factor.value is not None))

    @property
    def known(self) -> tuple[Factor, ...]:
        """The factors with a value."""
        return tuple(factor for factor in self.factors if factor.value is not None)

    @property
    def unknown(self) -> tuple[Factor, ...]:
        """The factors without one, which are in the remainder."""
        return tuple(factor for factor in self.factors if factor.value is None)

    def factor(self, name: FactorName) -> Factor | None:
        """The factor of that name."""
        return next((factor for factor in self.factors if factor.name is name), None)
