"""Runs as they stand side by side: each with its problems as readings, and which problems they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kernels.models import Problem, ProblemSize
from runs import words
from runs.board import Board, Row, board
from runs.comparing.asked import LETTERS
from runs.comparing.run_figures import Figures, claimed_reading, unmatched
from runs.comparing.spent import Spent, spent_by
from runs.gaps import reading_of
from runs.models import Run
from runs.readings import Reading


@dataclass(frozen=True)
class RunSide:
    """One run. ``letter`` names it on the page, A is the baseline. ``counted`` are the problems of every figure."""

    letter: str
    run: Run
    board: Board
    counted: tuple[str, ...]
    spent: Spent
    readings: dict[str, Reading]

    @property
    def name(self) -> str:
        """Letter and run, as charts and tables name it."""
        return f"{self.letter} {self.run}"

    @property
    def word(self) -> words.Word:
        """Its state."""
        return words.of_run(self.run)

    @cached_property
    def rows(self) -> dict[str, Row]:
        """Its problems by their names in addresses."""
        return {row.trajectory.problem.slug: row for row in self.board.rows}

    @cached_property
    def figures(self) -> Figures:
        """Its figures over the counted problems, held times left out."""
        return self.figures_of(self.counted)

    @cached_property
    def claimed(self) -> Figures:
        """The same as if every held time counted."""
        return self.figures_of(self.counted, claimed=True)

    def figures_of(self, slugs: Sequence[str], *, claimed: bool = False) -> Figures:
        """Its figures over some problems."""
        readings = self._claimed_readings if claimed else self.readings
        return Figures(tuple(readings[slug] for slug in slugs))

    @cached_property
    def _claimed_readings(self) -> dict[str, Reading]:
        return {slug: claimed_reading(one, self.rows[slug]) for slug, one in self.readings.items()}

    def apart_from(self, base: RunSide) -> str:
        """Why its measured figures cannot be set against the baseline's; empty where they can."""
        sizes = any(
            self.rows[slug].trajectory.size != base.rows[slug].trajectory.size
            for slug in self.counted
            if slug in base.rows
        )
        found = [
            name
            for name, differs in (
                ("device", self.board.device != base.board.device),
                ("policy", self.run.policy != base.run.policy),
                ("size of a problem", sizes),
            )
            if differs
        ]
        return f"not comparable: another {' and '.join(found)}" if found else ""


@dataclass(frozen=True)
class Common:
    """The problems of all runs. ``unmatched`` are left out of every figure: a kernel without a baseline beside it."""

    slugs: tuple[str, ...]
    unmatched: tuple[str, ...]
    elsewhere: int
    levels: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    @property
    def counted(self) -> tuple[str, ...]:
        """The problems of every figure, in the baseline's order: most headroom first."""
        return tuple(slug for slug in self.slugs if slug not in self.unmatched)


def run_sides(runs: Sequence[Run]) -> tuple[tuple[RunSide, ...], Common]:
    """The runs in their order, the baseline first. Two queries a run and four for all."""
    seen = [board(run) for run in runs]
    readings: list[dict[str, Reading]] = [
        {row.trajectory.problem.slug: reading_of(row) for row in one.rows} for one in seen
    ]
    slugs = tuple(slug for slug in readings[0] if all(slug in one for one in readings))
    left_out = tuple(slug for slug in slugs if unmatched([one[slug] for one in readings]))
    keys = {row.trajectory.problem.slug: row.trajectory for row in seen[0].rows}
    problems = [keys[slug].problem_id for slug in slugs]
    levels, kinds = _levels(runs[0]), _kinds(runs[0], {each.problem_id: each.size for each in keys.values()})
    common = Common(
        slugs=slugs,
        unmatched=left_out,
        elsewhere=len({slug for one in readings for slug in one}) - len(slugs),
        levels={slug: levels.get(keys[slug].problem_id, "") for slug in slugs},
        kinds={slug: kinds.get(keys[slug].problem_id, "") for slug in slugs},
    )
    spent = spent_by(runs, problems)
    made = zip(LETTERS, runs, seen, readings, strict=False)
    return tuple(RunSide(a, run, one, common.counted, spent[run.pk], read) for a, run, one, read in made), common


def _levels(run: Run) -> dict[int, str]:
    """Where each of a run's problems is from."""
    rows = Problem.objects.filter(trajectories__run=run).values_list("pk", "collection", "level")
    return {key: collection if level is None else f"{collection} level {level}" for key, collection, level in rows}


def _kinds(run: Run, sizes: dict[int, str]) -> dict[int, str]:
    """The operation that dominates each problem at the size it was worked on; empty where nobody has looked."""
    rows = ProblemSize.objects.filter(problem__trajectories__run=run).values_list("problem_id", "size", "kind")
    return {key: kind for key, size, kind in rows if sizes.get(key) == size}
