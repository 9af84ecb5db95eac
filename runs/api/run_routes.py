"""Runs: listing, starting, reading, cancelling."""

from __future__ import annotations

from typing import Annotated, Any

from django.db.models import Count, QuerySet, Sum
from django.http import HttpResponse
from ninja import Query, Router

from runs import control, launching
from runs.access import get_run_for, get_run_to_change, may_change
from runs.api.auth import ApiRequest
from runs.api.once import once
from runs.api.orders import form_of, order_of
from runs.api.schemas import RunForm, RunItem, RunPage, RunWanted, TrajectoryItem
from runs.models import Run, Trajectory
from runs.roles import Right, require

router = Router(tags=["runs"])

_CREATED = 201


@router.get("/runs", response=RunPage, summary="List runs")
def list_runs(
    request: ApiRequest,
    state: str = "",
    owner: str = "",
    before: int = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> RunPage:
    """Runs, newest first, by state and by owner's name where given. One query."""
    found = Run.objects.all()
    if before:
        found = found.filter(pk__lt=before)
    if state:
        found = found.filter(state=state.replace("\0", ""))
    if owner:
        found = found.filter(owner__username=owner.replace("\0", ""))
    rows = run_items(found.order_by("-pk"), most=limit + 1)
    shown = rows[:limit]
    return RunPage(items=shown, next=shown[-1].id if len(rows) > limit else None)


def run_items(found: QuerySet[Run], *, most: int | None = None) -> list[RunItem]:
    """Runs as they are listed, so many of them at most. One query."""
    rows = found.select_related("owner").annotate(
        problems=Count("trajectories"), done=Sum("trajectories__attempts_done")
    )
    return [RunItem(**_item(row, row.problems, row.done or 0)) for row in rows[:most]]


def _item(run: Run, problems: int, done: int) -> dict[str, Any]:
    return {
        "id": run.pk,
        "title": run.title,
        "owner": run.owner.get_username(),
        "state": run.state,
        "reason": run.reason,
        "target": run.target,
        "policy": run.policy,
        "controller": run.controller,
        "proposer": run.proposer,
        "representation": run.representation,
        "tolerance": run.tolerance,
        "seed": run.seed,
        "steering": run.steering,
        "grid": run.grid_id,
        "attempts": run.attempts,
        "problems": problems,
        "attempts_done": done,
        "created": run.created,
        "finished": run.finished,
    }


@router.post("/runs", response={201: RunForm}, summary="Start a run")
def start_run(request: ApiRequest, wanted: RunWanted) -> HttpResponse:
    """Each problem's translated program is attempt 1. With the proposer "external" candidates posted to its trajectory
    are the others; else they are written here.
    """
    user = request.auth.user
    require(user, Right.LAUNCH)

    def work() -> RunForm:
        return run_form(launching.launch(user, order_of(wanted, form_of(wanted))), yours=True)

    return once(request, user, _CREATED, work)


@router.get("/runs/{int:run}", response=RunForm, summary="Read a run")
def read_run(request: ApiRequest, run: int) -> RunForm:
    """A run and its trajectories. Two queries."""
    row = get_run_for(request.auth.user, run)
    return run_form(row, yours=may_change(request.auth.user, row))


def run_form(run: Run, *, yours: bool) -> RunForm:
    """A run as it is answered. One query."""
    rows = list(
        Trajectory.objects.filter(run=run)
        .select_related("problem", "best")
        .defer("bounds", "problem__source", "seed_program")
        .order_by("pk")
    )
    done = sum(row.attempts_done for row in rows)
    items = [TrajectoryItem(**trajectory_item(row)) for row in rows]
    return RunForm(**_item(run, len(rows), done), yours=yours, trajectories=items)


def trajectory_item(row: Trajectory) -> dict[str, Any]:
    """A trajectory's fields; no query where its problem and best attempt are at hand."""
    return {
        "id": row.pk,
        "problem": row.problem.slug,
        "size": row.size,
        "state": row.state,
        "finish_reason": row.finish_reason or None,
        "words": row.words,
        "attempts_done": row.attempts_done,
        "best": row.best.number if row.best is not None else None,
        "best_s": row.best_s,
        "eager_s": row.eager_s,
        "speedup": row.speedup,
        "sol_s": row.sol_s,
        "floor_s": row.floor_s,
        "gap": row.gap,
    }


@router.post("/runs/{int:run}/cancel", response=RunForm, summary="Cancel a run")
def cancel_run(request: ApiRequest, run: int) -> RunForm:
    """Stop a run: its owner's and admins' right. Twice does nothing."""
    user = request.auth.user
    row = get_run_to_change(user, run)
    control.cancel(row, user)
    return run_form(get_run_for(user, run), yours=True)
