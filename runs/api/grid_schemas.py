"""The forms of grids: what is posted and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field

from runs.api.schemas import Plain, RunItem, RunWanted
from runs.grids import MOST_SEEDS

Seed = Annotated[int, Field(ge=0, lt=2**31)]


class GridWanted(RunWanted):
    """A run of each combination of what is varied; what is not, is as the run's own fields say."""

    proposer: Plain = "search"
    controllers: list[Plain] = []
    proposers: list[Plain] = []
    seeds: Annotated[list[Seed], Field(max_length=MOST_SEEDS)] = []
    both_steerings: bool = False


class GridCell(Schema):
    """One combination of a grid."""

    controller: str
    proposer: str
    seed: int
    steering: bool


class GridPlan(Schema):
    """What a grid would make. ``attempts`` are those of all runs at most; ``left_out`` says why of what cannot work."""

    runs: int
    attempts: int | None
    too_large: bool
    left_out: list[str]
    cells: list[GridCell]


class GridItem(Schema):
    """One grid of the list."""

    id: int
    title: str
    owner: str
    created: datetime
    count: int


class GridPage(Schema):
    """Grids, newest first. ``next`` is the ``before`` of the next page; null on the last."""

    items: list[GridItem]
    next: int | None


class GridForm(GridItem):
    """A grid with its runs, in the order of its axes."""

    runs: list[RunItem]


class GridLaunched(GridForm):
    """A grid as it was launched; ``left_out`` says why of each combination that cannot work."""

    left_out: list[str]
