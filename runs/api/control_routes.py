"""What can be done to a run after its launch: pausing, other limits, retrying, stopping one problem."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from django.shortcuts import get_object_or_404
from ninja import Router

from runs import budgets, changing
from runs.access import get_run_for, get_run_to_change
from runs.api.auth import ApiRequest
from runs.api.run_routes import run_form
from runs.api.schemas import BudgetForm, BudgetWanted, ChangeItem, ChangePage, RunForm
from runs.budget_form import limit_problems_of
from runs.change_words import changes_of, words_of
from runs.errors import RequestNotValid
from runs.models import Run, Trajectory

router = Router(tags=["run control"])


def _form(request: ApiRequest, run: int) -> RunForm:
    return run_form(get_run_for(request.auth.user, run), yours=True)


@router.post("/runs/{int:run}/pause", response=RunForm, summary="Pause a run")
def pause_run(request: ApiRequest, run: int) -> RunForm:
    """It takes no new step; what is under way ends and is stored. Twice does nothing."""
    changing.pause(get_run_to_change(request.auth.user, run), request.auth.user)
    return _form(request, run)


@router.post("/runs/{int:run}/resume", response=RunForm, summary="Resume a run")
def resume_run(request: ApiRequest, run: int) -> RunForm:
    """It goes on where its logs stand. Twice does nothing."""
    changing.resume(get_run_to_change(request.auth.user, run), request.auth.user)
    return _form(request, run)


@router.post("/runs/{int:run}/retry", response=RunForm, summary="Retry what failed")
def retry_run(request: ApiRequest, run: int) -> RunForm:
    """Failed problems go on from their logs, lost attempts are queued again. 409 where there is nothing of either."""
    changing.retry(get_run_to_change(request.auth.user, run), request.auth.user)
    return _form(request, run)


@router.get("/runs/{int:run}/budget", response=BudgetForm, summary="Read a run's limits")
def read_budget(request: ApiRequest, run: int) -> BudgetForm:
    """Its limits and what is used of them. Three queries."""
    return _budget_form(get_run_for(request.auth.user, run))


@router.post("/runs/{int:run}/budget", response=BudgetForm, summary="Change a run's limits")
def change_budget(request: ApiRequest, run: int, wanted: BudgetWanted) -> BudgetForm:
    """Limits that are named take the place of the run's; null takes one away. Never below what was used.

    Problems that had ended by a limit which stops them no longer go on.
    """
    user = request.auth.user
    row = get_run_to_change(user, run)
    named: dict[str, Any] = wanted.dict(exclude_unset=True)
    if named.get("attempts", 0) is None:
        raise RequestNotValid(count=1, verb="is", first="body.attempts: null; a number of attempts")
    budget = replace(budgets.budget_of(row), **named)
    for name, words in limit_problems_of(row, asdict(budget)).items():
        raise RequestNotValid(count=1, verb="is", first=f"body.{name}: {words}")
    # The named ones alone: what another changed since the run was read stays as it is.
    budgets.change(row, user, named)
    return _budget_form(get_run_for(user, run))


def _budget_form(run: Run) -> BudgetForm:
    budget, used = budgets.budget_of(run), budgets.used_of(run)
    return BudgetForm(
        run=run.pk,
        state=run.state,
        attempts=budget.attempts,
        pool=budget.pool,
        epsilon=budget.epsilon,
        patience=budget.patience,
        token_limit=budget.token_limit,
        cost_limit=budget.cost_limit,
        used_attempts=used.attempts,
        used_pool=used.pool,
        used_tokens=used.tokens,
        used_cost=used.cost if used.currency else None,
        currency=used.currency or None,
    )


@router.post("/trajectories/{int:trajectory}/stop", response=RunForm, summary="Stop one problem")
def stop_trajectory(request: ApiRequest, trajectory: int) -> RunForm:
    """It ends as cancelled, the run's others go on. 409 where it has ended."""
    user = request.auth.user
    row = get_object_or_404(Trajectory.objects.select_related("run", "problem").defer("bounds"), pk=trajectory)
    get_run_to_change(user, row.run_id)
    changing.stop_problem(row, user)
    return _form(request, row.run_id)


@router.get("/runs/{int:run}/changes", response=ChangePage, summary="Read what was done to a run")
def read_changes(request: ApiRequest, run: int) -> ChangePage:
    """Who did what and when, the newest first, 50 at most. Two queries."""
    row = get_run_for(request.auth.user, run)
    items = [
        ChangeItem(
            action=change.action,
            user=change.user.get_username() if change.user is not None else None,
            problem=change.trajectory.problem.slug if change.trajectory is not None else None,
            words=words_of(change),
            record=change.record,
            created=change.created,
        )
        for change in changes_of(row)
    ]
    return ChangePage(items=items)
