"""The page of runs side by side: their figures on the common problems, by level and operation, problem by problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator

from runs import figures
from runs.access import get_runs_for
from runs.comparing import run_lines
from runs.comparing.asked import Asked
from runs.comparing.cautions import circumstances, sentences
from runs.comparing.cells import Group, Shown, shown
from runs.comparing.run_problems import ProblemLine, problem_lines, wins
from runs.comparing.run_sides import Common, RunSide, run_sides
from runs.states import FINAL

PAGE = 50


@dataclass(frozen=True)
class RunsSeen:
    """Runs beside each other, A the baseline."""

    asked: Asked
    sides: tuple[RunSide, ...]
    common: Common
    number: str | None

    @property
    def base(self) -> RunSide:
        """What the others are set against."""
        return self.sides[0]

    @property
    def attempts(self) -> int:
        """The n of Attempt-Fast_p: the address's, else the smallest of the runs' limits."""
        return self.asked.attempts or min(side.run.attempts for side in self.sides)

    @cached_property
    def groups(self) -> list[Group]:
        """Figures, costs, figures by level and operation, settings."""
        found = [run_lines.results(self.sides, self.attempts), run_lines.costs(self.sides)]
        for title, names, none in (
            ("By level, geomean speedup", self.common.levels, "no level"),
            ("By operation, geomean speedup", self.common.kinds, "not inspected"),
        ):
            found.append(run_lines.by_group(self.sides, title, names, none))
        return [*found, run_lines.settings(self.sides)]

    @property
    def shown(self) -> list[Shown]:
        """What the page shows of them; a run's own figures are there also where they are equal."""
        whole = 0 if self.asked.everything else 1
        return [*shown(self.groups[:whole], True), *shown(self.groups[whole:], self.asked.everything)]

    @property
    def equal(self) -> int:
        """Facts that are the same in every run and left out by default."""
        return sum(group.equal for group in self.groups[1:])

    @cached_property
    def lines(self) -> list[ProblemLine]:
        """All common problems, those where the runs differ most first."""
        return problem_lines(self.sides, self.common.slugs)

    @cached_property
    def page(self) -> Page[ProblemLine]:
        """One page of them."""
        return Paginator(self.lines, PAGE).get_page(self.number)

    @property
    def wins(self) -> list[tuple[str, int]]:
        """How many problems each run is fastest on."""
        return wins(self.lines, self.sides)

    @property
    def cautions(self) -> list[str]:
        """What keeps the runs' figures from being compared, in sentences."""
        return _cautions(self.sides, self.common)

    @property
    def remove(self) -> dict[int, str]:
        """Addresses without each of them; empty where too few would be left."""
        return {side.run.pk: self.asked.without(side.run.pk) for side in self.sides}


def runs_seen(user: User, wanted: Asked, number: str | None = None) -> RunsSeen:
    """Load them. Raises ChosenNotThere for one that is not there."""
    found = get_runs_for(user, wanted.keys)
    wanted.check_there(set(found))
    sides, common = run_sides([found[key] for key in wanted.keys])
    return RunsSeen(wanted, sides, common, number)


def _cautions(found: Sequence[RunSide], common: Common) -> list[str]:
    said = []
    if not common.slugs:
        said.append("The runs have no problem in common: nothing of what they reached can be compared.")
    limits = [f"{side.run.attempts}" for side in found]
    more = "who may try more often reaches more; Attempt-Fast_p and “Geomean within” count the same number of each"
    said += sentences((
        *circumstances([side.run for side in found], [side.board.device for side in found]),
        ("limits of attempts a problem", limits, more),
    ))  # fmt: skip
    under_way = [side.letter for side in found if side.run.state not in FINAL]
    if under_way:
        said.append(f"Under way: {', '.join(under_way)}. What is not reached yet counts as the baseline, 1×.")
    if common.unmatched:
        count = figures.counted(len(common.unmatched), "common problem")
        said.append(
            f"{count} left out of every figure: a kernel counts there, and no torch eager beside it is known."
        )
    return said
