"""The common problems one by one: each run's best, and which run has the fastest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from runs.board import Row
from runs.comparing.run_sides import RunSide

EVEN = 1.02
"""Best times within this factor of each other are even: evaluations of one kernel lie about as far apart."""


@dataclass(frozen=True, slots=True)
class Best:
    """One run's best on a problem; ``wins`` where no other is clearly faster and one is clearly slower."""

    row: Row
    wins: bool

    @property
    def address(self) -> str:
        """Where the candidate is shown; empty where there is none."""
        of = self.row.trajectory
        return (
            reverse("candidate", args=[of.run_id, of.problem.slug, self.row.best.number]) if self.row.best else ""
        )


@dataclass(frozen=True, slots=True)
class ProblemLine:
    """One common problem. ``winner`` names the fastest runs; ``why`` says why there is none."""

    slug: str
    name: str
    bests: tuple[Best, ...]
    winner: str
    why: str
    counted: bool

    @property
    def spread(self) -> float:
        """Slowest over fastest best; infinite where one run has none and another has, 1 where nothing differs."""
        times = [best.row.best_s for best in self.bests]
        known = [time for time in times if time]
        if not known:
            return 1.0
        return max(known) / min(known) if len(known) == len(times) else float("inf")


def problem_lines(found: Sequence[RunSide], slugs: Sequence[str]) -> list[ProblemLine]:
    """The problems where the runs differ most first."""
    apart = next((note for side in found[1:] if (note := side.apart_from(found[0]))), "")
    lines = [_line(found, slug, apart) for slug in slugs]
    return sorted(lines, key=lambda line: -line.spread)


def wins(lines: Sequence[ProblemLine], found: Sequence[RunSide]) -> list[tuple[str, int]]:
    """How many problems each run has the fastest kernel of, alone or with others; and how many none has."""
    won = Counter(letter for line in lines for letter in line.winner.split(" and ") if letter)
    return [(side.letter, won[side.letter]) for side in found]


def _line(found: Sequence[RunSide], slug: str, apart: str) -> ProblemLine:
    rows = [side.rows[slug] for side in found]
    times = [row.best_s for row in rows]
    known = [time for time in times if time]
    fastest = min(known, default=None)
    ahead = [bool(time and fastest and time <= fastest * EVEN) for time in times]
    why = apart or ("" if known else "no run has a kernel that counts")
    if not why and all(ahead):
        why = "even: within 2 %"
    won = [good and not why for good in ahead]
    letters = [side.letter for side, good in zip(found, won, strict=True) if good]
    bests = tuple(map(Best, rows, won))
    name = rows[0].trajectory.problem.name
    return ProblemLine(slug, name, bests, " and ".join(letters), why, slug in found[0].counted)
