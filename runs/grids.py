"""A grid: one launch that makes a run of each combination of controllers, proposers, seeds and steering.

How many runs and attempts it makes is known, and shown, before anything is launched. Combinations that cannot work are
left out by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from runs import figures, launching, queries, words
from runs.errors import GridTooLarge
from runs.launching import LaunchOrder
from runs.model_fields import problems_of
from runs.models import Grid, Run
from runs.pool import most_attempts

MOST_RUNS = 60
"""Runs of one grid at most."""
MOST_SEEDS = 20
"""Seeds of one grid at most."""
COMPARED = 6
"""Runs that can be compared at once."""


@dataclass(frozen=True, slots=True)
class Axes:
    """What is varied; an empty axis has the launch's own value."""

    controllers: tuple[str, ...] = ()
    proposers: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    both_steerings: bool = False

    def __bool__(self) -> bool:
        return bool(self.controllers or self.proposers or self.seeds or self.both_steerings)


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination."""

    controller: str
    proposer: str
    seed: int
    steering: bool

    @property
    def words(self) -> str:
        """As people call it."""
        steering = "steering on" if self.steering else "steering off"
        controller = words.CONTROLLERS.get(self.controller, self.controller)
        return f"{controller}, {words.proposer_name(self.proposer)}, seed {self.seed}, {steering}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a grid would make. ``left_out`` says why of each pair of controller and proposer that cannot work.

    ``each`` is how many attempts one run makes at most, None where the launch form must be mended first.
    """

    cells: tuple[Cell, ...]
    left_out: tuple[str, ...]
    each: int | None

    @property
    def attempts(self) -> int | None:
        """Attempts at most of all runs."""
        return None if self.each is None else self.each * len(self.cells)

    @property
    def too_large(self) -> bool:
        """Whether it is more than may be launched at once."""
        return len(self.cells) > MOST_RUNS

    @property
    def words(self) -> str:
        """``12 runs, 432 attempts at most``."""
        runs = figures.counted(len(self.cells), "run")
        return runs if self.attempts is None else f"{runs}, {figures.counted(self.attempts, 'attempt')} at most"


def plan_of(axes: Axes, data: dict[str, Any], problems: int) -> Plan:
    """The combinations of these axes with the launch form's values ``data``, which need not be whole."""
    left_out: dict[str, None] = {}
    cells = []
    for cell in _cells(axes, data):
        why_not = problems_of({**data, "controller": cell.controller, "proposer": cell.proposer})
        if why_not:
            name = words.CONTROLLERS.get(cell.controller, cell.controller)
            left_out[f"{name} with {words.proposer_name(cell.proposer)}: {'; '.join(why_not.values())}"] = None
        else:
            cells.append(cell)
    attempts = data.get("attempts")
    each = most_attempts(attempts, problems, data.get("pool")) if attempts and problems else None
    return Plan(tuple(cells), tuple(left_out), each)


def _cells(axes: Axes, data: dict[str, Any]) -> Iterator[Cell]:
    own = data.get("controller"), data.get("proposer"), data.get("seed")
    controllers = axes.controllers or ((own[0],) if own[0] else ())
    proposers = axes.proposers or ((own[1],) if own[1] else ())
    seeds = axes.seeds or ((own[2],) if own[2] is not None else ())
    steerings = (True, False) if axes.both_steerings else (bool(data.get("steering")),)
    for controller, proposer, seed, steering in product(controllers, proposers, seeds, steerings):
        yield Cell(controller, proposer, seed, steering)


def launch_grid(owner: User, order: LaunchOrder, plan: Plan, *, key: str = "") -> Grid:
    """Launch a run of each combination, all or none; with the ``key`` of a form that did so already, that grid.

    Raises GridTooLarge.
    """
    if plan.too_large:
        raise GridTooLarge(runs=len(plan.cells), most=MOST_RUNS)
    try:
        return _launched(owner, key) or _launch(owner, order, plan, key)
    except IntegrityError:
        # The same form came twice at the same time: the other one was first.
        first = _launched(owner, key)
        if first is None:
            raise
        return first


def _launched(owner: User, key: str) -> Grid | None:
    return Grid.objects.filter(owner=owner, launch_key=key).first() if key else None


def _launch(owner: User, order: LaunchOrder, plan: Plan, key: str) -> Grid:
    with transaction.atomic():
        grid = Grid.objects.create(title=order.title, owner=owner, launch_key=key)
        for cell in plan.cells:
            one = replace(
                order,
                title=f"{order.title[:100]}: {cell.words}"[:200],
                controller=cell.controller,
                proposer=cell.proposer,
                seed=cell.seed,
                steering=cell.steering,
            )
            launching.launch(owner, one, grid=grid)
    return grid


def grids() -> QuerySet[Grid]:
    """Grids, newest first, with their owners."""
    return Grid.objects.select_related("owner")


def rows_of(grid: Grid) -> list[queries.RunRow]:
    """The grid's runs with their figures, in the order of its axes. Two queries."""
    return queries.run_rows(list(Run.objects.filter(grid=grid).select_related("owner").order_by("pk")))
