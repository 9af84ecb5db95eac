"""What a person does to a run after its launch: pause, resume, retry, other limits, stopping one problem.

Each is a POST by its owner or staff and goes back to the run; what is wrong is said there in words.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from kernels.errors import UserError
from runs import budgets, changing, figures
from runs.access import SignedInRequest, get_run_to_change
from runs.board import board
from runs.budget_form import BudgetForm
from runs.change_words import changes_of
from runs.charts.strip import head
from runs.models import Run
from runs.states import FINAL


def _done(request: SignedInRequest, run: Run, work: Callable[[], str]) -> HttpResponse:
    """Do it, say what came of it or why not, and go back to the run."""
    try:
        said = work()
    except UserError as error:
        said = str(error)
    if said:
        messages.info(request, f"{said[0].upper()}{said[1:]}.")
    return redirect("run", run.pk)


@require_POST
def run_pause(request: SignedInRequest, pk: int) -> HttpResponse:
    """Let a run take no new step."""
    run = get_run_to_change(request.user, pk)

    def work() -> str:
        changing.pause(run, request.user)
        return ""

    return _done(request, run, work)


@require_POST
def run_resume(request: SignedInRequest, pk: int) -> HttpResponse:
    """Let a paused run go on."""
    run = get_run_to_change(request.user, pk)

    def work() -> str:
        changing.resume(run, request.user)
        return ""

    return _done(request, run, work)


@require_POST
def run_retry(request: SignedInRequest, pk: int) -> HttpResponse:
    """Let what failed or was lost go on."""
    run = get_run_to_change(request.user, pk)

    def work() -> str:
        problems, attempts = changing.retry(run, request.user)
        failed = figures.counted(problems, "failed problem goes", "failed problems go")
        lost = figures.counted(attempts, "lost attempt is", "lost attempts are")
        return f"{failed} on from where they stood; {lost} queued again"

    return _done(request, run, work)


@require_http_methods(["GET", "POST"])
def run_budget(request: SignedInRequest, pk: int) -> HttpResponse:
    """Other limits for a run. What was typed comes back with its errors."""
    run = get_run_to_change(request.user, pk)
    used = budgets.used_of(run)
    form = BudgetForm(run, used, request.POST if request.method == "POST" else None)
    context = {"run": run, "form": form, "used": used, "changes": changes_of(run)}
    if request.method != "POST":
        return render(request, "runs/budget.html", context)
    if not form.is_valid():
        return render(request, "runs/budget.html", context, status=422)
    wanted = form.budget()

    def work() -> str:
        going_on = budgets.change(run, request.user, wanted)
        more = f"; {figures.counted(going_on, 'ended problem goes', 'ended problems go')} on" if going_on else ""
        return f"the limits are changed{more}"

    return _done(request, run, work)


@require_http_methods(["GET", "POST"])
def run_stop(request: SignedInRequest, pk: int) -> HttpResponse:
    """The open problems of a run, each with a button that stops it alone."""
    run = get_run_to_change(request.user, pk)
    if request.method == "POST":
        return _stop(request, run)
    seen = board(run)
    context = {"run": run, "board": seen, "rows": [row for row in seen.rows if row.open], "strip_head": head()}
    return render(request, "runs/stop.html", context)


def _stop(request: SignedInRequest, run: Run) -> HttpResponse:
    key = request.POST.get("trajectory", "")
    one = run.trajectories.select_related("run", "problem").filter(pk=int(key) if key.isdecimal() else 0).first()
    if one is None:
        raise Http404("This run has no such problem.")

    def work() -> str:
        changing.stop_problem(one, request.user)
        return f"{one.problem.slug} is stopped; the others go on"

    response = _done(request, run, work)
    left = run.trajectories.exclude(state__in=FINAL).filter(stop_requested=None).exists()
    return redirect("run-stop", run.pk) if left else response
