"""The base of a factor: a name, and what the evidence says of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from sol.gap.evidence import Evidence
from sol.gap.record import Factor, FactorName


class Part(ABC):
    """Reads one factor from the evidence. It never guesses: what the records do not show is None with the reason."""

    name: ClassVar[FactorName]

    @abstractmethod
    def factor(self, evidence: Evidence) -> Factor:
        """The factor with its evidence, or None with the reason."""

    def known(self, value: float, words: str, seen_in: str) -> Factor:
        """A factor that was seen."""
        return Factor(self.name, value, words, seen_in)

    def unknown(self, why: str) -> Factor:
        """A factor that was not."""
        return Factor(self.name, None, why)
