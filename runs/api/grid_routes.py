"""Grids: looking at one, launching it, listing and reading them."""

from __future__ import annotations

from typing import Annotated, Any

from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router

from runs import grids
from runs.api.auth import ApiRequest
from runs.api.grid_schemas import GridCell, GridForm, GridItem, GridLaunched, GridPage, GridPlan, GridWanted
from runs.api.once import once
from runs.api.orders import Wrong, axes_of, form_of, order_of
from runs.api.run_routes import run_items
from runs.forms import LaunchForm
from runs.models import Grid, Run
from runs.roles import Right, require

router = Router(tags=["runs"])

_CREATED = 201


@router.get("/grids", response=GridPage, summary="List grids")
def list_grids(request: ApiRequest, before: int = 0, limit: Annotated[int, Query(ge=1, le=200)] = 50) -> GridPage:
    """Grids, newest first. One query."""
    found = grids.grids().annotate(count=Count("runs"))
    if before:
        found = found.filter(pk__lt=before)
    rows = list(found.order_by("-pk")[: limit + 1])
    shown = rows[:limit]
    items = [GridItem(**_item(row, row.count)) for row in shown]
    return GridPage(items=items, next=shown[-1].pk if len(rows) > limit else None)


def _item(grid: Grid, count: int) -> dict[str, Any]:
    return {
        "id": grid.pk,
        "title": grid.title,
        "owner": grid.owner.get_username(),
        "created": grid.created,
        "count": count,
    }


@router.post("/grids/look", response=GridPlan, summary="Look at a grid before it is launched")
def look_at_grid(request: ApiRequest, wanted: GridWanted) -> GridPlan:
    """How many runs and attempts it would make, which combinations cannot work, and why. Nothing is stored."""
    require(request.auth.user, Right.LAUNCH)
    plan = _plan(wanted, form_of(wanted))
    return GridPlan(
        runs=len(plan.cells),
        attempts=plan.attempts,
        too_large=plan.too_large,
        left_out=list(plan.left_out),
        cells=[GridCell(controller=c.controller, proposer=c.proposer, seed=c.seed, steering=c.steering)
               for c in plan.cells],
    )  # fmt: skip


def _plan(wanted: GridWanted, form: LaunchForm) -> grids.Plan:
    return grids.plan_of(axes_of(wanted, form), form.cleaned_data, len(form.chosen()))


@router.post("/grids", response={201: GridLaunched}, summary="Launch a grid of runs")
def launch_grid(request: ApiRequest, wanted: GridWanted) -> HttpResponse:
    """A run of each combination that can work, all or none."""
    user = request.auth.user
    require(user, Right.LAUNCH)

    def work() -> GridLaunched:
        form = form_of(wanted)
        plan = _plan(wanted, form)
        if not plan.cells:
            raise Wrong({"controllers": list(plan.left_out)})
        made = grids.launch_grid(user, order_of(wanted, form), plan)
        return GridLaunched(**_form(made), left_out=list(plan.left_out))

    return once(request, user, _CREATED, work)


def _form(grid: Grid) -> dict[str, Any]:
    runs = run_items(Run.objects.filter(grid=grid).order_by("pk"))
    return {**_item(grid, len(runs)), "runs": runs}


@router.get("/grids/{int:grid}", response=GridForm, summary="Read a grid")
def read_grid(request: ApiRequest, grid: int) -> GridForm:
    """A grid and its runs. Two queries."""
    return GridForm(**_form(get_object_or_404(grids.grids(), pk=grid)))
