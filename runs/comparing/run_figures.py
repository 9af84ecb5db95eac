"""What a run's problems come to, as figures that can be set beside another run's. Pure: readings in, numbers out.

All of them are over the same problems in every run. Speedups are over torch eager of the same call; a problem without
a kernel that counts is at 1×, because the baseline would be kept, and is not reached at any r.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from runs import figures
from runs.board import Row
from runs.charts.fast_p import attempt_fast_p, fast_p
from runs.readings import Reading


@dataclass(frozen=True)
class Figures:
    """One run's readings, one a problem, in the same order for every run."""

    readings: tuple[Reading, ...]

    @cached_property
    def kept(self) -> list[float]:
        """Each problem's speedup, 1 where no kernel counts."""
        return [one.speedup or 1.0 for one in self.readings]

    @property
    def geomean(self) -> float | None:
        """Geomean of the speedups; None of no problem."""
        return figures.geomean(self.kept)

    @property
    def median(self) -> float | None:
        """Median of the speedups; None of no problem."""
        return statistics.median(self.kept) if self.kept else None

    def fast(self, r: float) -> float | None:
        """Fast_p(r), 0 to 1."""
        return fast_p(self.readings, r)

    def attempt_fast(self, r: float, attempts: int) -> float | None:
        """Attempt-Fast_p(r, n): the share that had a best at r× or more within the first n attempts."""
        return attempt_fast_p(self.readings, r, attempts)

    def geomean_within(self, attempts: int) -> float | None:
        """Geomean of the highest speedup that a best had within the first n attempts, 1 where there was none."""
        return figures.geomean(
            [max((s for k, s in one.reached if k <= attempts), default=1.0) for one in self.readings]
        )

    @property
    def gap(self) -> float | None:
        """Geomean of best over SOL, eager's where no kernel counts; None where a problem has neither."""
        known = [one.counted_gap for one in self.readings]
        return figures.geomean([gap for gap in known if gap is not None]) if known and None not in known else None

    @property
    def near(self) -> int:
        """Problems within epsilon of SOL."""
        return sum(one.near for one in self.readings)

    @property
    def with_kernel(self) -> int:
        """Problems with a kernel that counts."""
        return sum(one.best is not None for one in self.readings)

    @property
    def held(self) -> int:
        """Attempts whose times do not count."""
        return sum(len(one.held) for one in self.readings)

    @property
    def passed(self) -> int:
        """Attempts that passed with a time that counts."""
        return sum(len(one.counted) for one in self.readings)

    @property
    def attempts(self) -> int:
        """Attempts that came to their end."""
        return sum(one.ended for one in self.readings)


def claimed_reading(reading: Reading, row: Row) -> Reading:
    """The same problem as if every held time counted."""
    if not reading.held:
        return reading
    steps = tuple(step._replace(held="") if step.held else step for step in reading.steps)
    best = row.claimed._replace(held="") if row.claimed is not None else None
    return replace(reading, steps=steps, best=best)


def unmatched(readings: Sequence[Reading]) -> bool:
    """Whether one run has a kernel here and no baseline beside it: its speedup is not known, and not 1."""
    return any(one.best is not None and one.speedup is None for one in readings)
