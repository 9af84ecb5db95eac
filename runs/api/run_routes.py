"""Runs: listing, starting one whose candidates are posted, reading, cancelling."""

from __future__ import annotations

from typing import Annotated, Any

from django.db.models import Count, Sum
from django.http import HttpResponse
from ninja import Query, Router

from agent.controllers import controller_names, possible
from agent.proposers.external import External
from kernels.languages import Language
from kernels.models import Problem
from runs import control, launching
from runs.access import get_run_for, get_run_to_change, may_change
from runs.api.auth import ApiRequest
from runs.api.once import once
from runs.api.schemas import RunForm, RunItem, RunPage, RunWanted, TrajectoryItem
from runs.errors import RequestNotValid
from runs.forms import TOLERANCES
from runs.launching import LaunchOrder
from runs.models import Run, Trajectory
from runs.roles import Right, require
from runs.states import Order

router = Router(tags=["runs"])

_TITLE = 200
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
    found = Run.objects.select_related("owner").annotate(
        problems=Count("trajectories"), done=Sum("trajectories__attempts_done")
    )
    if before:
        found = found.filter(pk__lt=before)
    if state:
        found = found.filter(state=state.replace("\0", ""))
    if owner:
        found = found.filter(owner__username=owner.replace("\0", ""))
    rows = list(found.order_by("-pk")[: limit + 1])
    shown = rows[:limit]
    return RunPage(
        items=[RunItem(**_item(row, row.problems, row.done or 0)) for row in shown],
        next=shown[-1].pk if len(rows) > limit else None,
    )


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
        "attempts": run.attempts,
        "problems": problems,
        "attempts_done": done,
        "created": run.created,
        "finished": run.finished,
    }


@router.post("/runs", response={201: RunForm}, summary="Start a run whose candidates are posted")
def start_run(request: ApiRequest, wanted: RunWanted) -> HttpResponse:
    """Each problem's translated program is attempt 1; candidates posted to its trajectory are the others."""
    user = request.auth.user
    require(user, Right.LAUNCH)

    def work() -> RunForm:
        return run_form(launching.launch(user, _order(wanted)), yours=True)

    return once(request, user, _CREATED, work)


def _order(wanted: RunWanted) -> LaunchOrder:
    found = {row.slug: row for row in Problem.objects.filter(slug__in=wanted.problems).only("pk", "slug", "name")}
    missing = [slug for slug in wanted.problems if slug not in found]
    if missing:
        raise _wrong("body.problems", f"there is no problem {missing[0]!r}")
    if wanted.controller not in controller_names():
        raise _wrong("body.controller", f"{wanted.controller!r}; one of {', '.join(controller_names())}")
    why_not = possible(wanted.controller, External.name, Language.MU, wanted.target)
    if why_not:
        raise _wrong("body.controller", why_not)
    tolerances = [value for value, _, _ in TOLERANCES]
    if wanted.tolerance not in tolerances:
        raise _wrong("body.tolerance", f"{wanted.tolerance!r}; one of {', '.join(tolerances)}")
    rows = [found[slug] for slug in dict.fromkeys(wanted.problems)]
    title = wanted.title.strip() or f"{rows[0].name}{f' and {len(rows) - 1} more' if len(rows) > 1 else ''}"
    return LaunchOrder(
        title=title[:_TITLE],
        problems=tuple(row.pk for row in rows),
        target=wanted.target,
        policy=wanted.policy,
        controller=wanted.controller,
        proposer=External.name,
        attempts=wanted.attempts,
        epsilon=wanted.epsilon,
        patience=wanted.patience,
        steering=False,
        seed=0,
        tolerance=wanted.tolerance,
        order=Order.LISTED,
    )


def _wrong(where: str, words: str) -> RequestNotValid:
    return RequestNotValid(count=1, verb="is", first=f"{where}: {words}")


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
