"""What one problem of a run came to: its attempts with their times beside its bounds. Pure: no database, no drawing.

A time that is held (``sol.gap.standing.Held``: below the floor, flagged or settled as gamed) is no best, no speedup
and reaches nothing here.
Times are seconds, ratios multiples of the run's own steering bound, speedups over torch eager of the same call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kernels.harness.evaluation import Outcome
from sol.gap.standing import Held, told

_ENDED = ("done", "lost")
DEFAULT_EPSILON = 0.25


class Step(NamedTuple):
    """One attempt: no text, few columns. ``time_s`` is None unless it passed; ``eager_s`` is from the same call.

    ``held``: why its time does not count; empty where it does. A tuple, because a run has ten thousand of them.
    """

    number: int
    state: str
    outcome: str
    time_s: float | None
    eager_s: float | None = None
    held: str = ""
    pk: int = 0

    @property
    def ended(self) -> bool:
        """Whether it has come to its own end; one that was cancelled has not."""
        return self.state in _ENDED

    @property
    def counts(self) -> bool:
        """Whether its time may be a best."""
        return self.time_s is not None and not self.held

    @property
    def counted_s(self) -> float | None:
        """Its time where that counts."""
        return None if self.held else self.time_s

    @property
    def passed(self) -> bool:
        """Whether it passed with a time that counts."""
        return self.outcome == Outcome.PASSED and not self.held

    @property
    def speedup(self) -> float | None:
        """Torch eager over it, both from one call; None unless it counts."""
        return self.eager_s / self.time_s if self.eager_s and self.time_s and not self.held else None


@dataclass(frozen=True)
class Reading:
    """One problem. ``key`` names it in addresses; ``flops`` and ``intensity`` (FLOP per byte) are the reference's.

    ``best`` is the fastest attempt that counts. A quantity that is not known is None.
    """

    slug: str
    name: str
    sol_s: float | None
    floor_s: float | None
    eager_s: float | None
    steps: Sequence[Step]
    best: Step | None
    epsilon: float = DEFAULT_EPSILON
    bound_class: str = ""
    flops: float | None = None
    intensity: float | None = None

    @property
    def title(self) -> str:
        """Its name as people say it."""
        return f"{self.slug} {self.name}"

    @cached_property
    def counted(self) -> tuple[Step, ...]:
        """Attempts whose times count."""
        return tuple([step for step in self.steps if step.time_s is not None and not step.held])

    @cached_property
    def held(self) -> tuple[Step, ...]:
        """Attempts whose times do not count."""
        return tuple([step for step in self.steps if step.held])

    @cached_property
    def waiting(self) -> tuple[Step, ...]:
        """Of those that do not count, the ones that nobody settled as gamed."""
        return tuple(step for step in self.held if step.held != Held.HACKED)

    @cached_property
    def hacked(self) -> tuple[Step, ...]:
        """Those settled as gamed."""
        return tuple(step for step in self.held if step.held == Held.HACKED)

    @cached_property
    def unmeasured(self) -> int:
        """Attempts that ended without a time."""
        return sum(step.time_s is None and step.state in _ENDED for step in self.steps)

    def told(self, step: Step) -> str:
        """What is to be said of an attempt's time; empty where nothing is."""
        return told(step.held, step.time_s, self.floor_s, self.sol_s) if step.time_s else ""

    def over_sol(self, seconds: float | None) -> float | None:
        """A time as a multiple of the bound."""
        return seconds / self.sol_s if seconds and self.sol_s else None

    @cached_property
    def ended(self) -> int:
        """Attempts that came to their own end."""
        return sum(step.state in _ENDED for step in self.steps)

    @cached_property
    def gap(self) -> float | None:
        """The best over SOL."""
        return self.over_sol(self.best.time_s) if self.best else None

    @cached_property
    def eager_gap(self) -> float | None:
        """Torch eager over SOL."""
        return self.over_sol(self.eager_s)

    @property
    def counted_gap(self) -> float | None:
        """The gap, or eager's where no kernel passed; None where neither is known."""
        return self.gap if self.gap is not None else self.eager_gap

    @property
    def near(self) -> bool:
        """Whether it is within the run's epsilon of SOL."""
        return self.gap is not None and self.gap <= 1 + self.epsilon

    @cached_property
    def speedup(self) -> float | None:
        """Torch eager over the best."""
        if self.best is None or not self.best.time_s:
            return None
        if self.best.eager_s:
            return self.best.eager_s / self.best.time_s
        return self.eager_s / self.best.time_s if self.eager_s else None

    def reaches(self, r: float) -> float:
        """The number of the attempt that first brought its best to r× eager; infinite where none did."""
        return next((k for k, s in self.reached if s >= r), math.inf)

    @cached_property
    def reached(self) -> tuple[tuple[int, float], ...]:
        """(k, the highest speedup that a best within the first k attempts has had), at each k where it rises."""
        found: list[tuple[int, float]] = []
        best_s, most = float("inf"), 0.0
        for number, _, _, time_s, eager_s, _, _ in self.counted:
            if time_s is not None and time_s < best_s:
                best_s = time_s
                speedup = eager_s / time_s if eager_s and time_s else 0.0
                if speedup > most:
                    most = speedup
                    found.append((number, most))
        return tuple(found)
