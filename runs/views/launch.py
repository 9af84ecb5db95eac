"""Launching a run, and the summary of what will happen."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from kernels.targets import Target
from runs import forms, launching, model_fields
from runs.access import SignedInRequest, get_run_for
from runs.charts.strip import head
from runs.fleet import device_queue, queue_states
from runs.forecast import forecast
from runs.forms import LaunchForm, initial_of, rules_of
from runs.headroom import ProblemRow, here, problem_rows
from runs.models import Run
from runs.views.problems import policy_of


def _as_data(initial: dict[str, Any]) -> QueryDict:
    """First values in the form of an answer, so that the summary reads both alike."""
    data = QueryDict(mutable=True)
    for name, value in initial.items():
        data.setlist(name, [str(v) for v in value] if isinstance(value, list) else [str(value)])
    for name in ("steering", "memory"):
        if not initial.get(name):
            data.pop(name, None)
    return data


def _context(form: LaunchForm, shown: LaunchForm, rows: list[ProblemRow]) -> dict[str, Any]:
    queues = {value: device_queue(Target(value)) for value, _, _ in forms.TARGETS}
    online = queue_states(tuple(queues.values()))
    return {
        "form": shown,
        "rows": rows,
        "chosen": shown.chosen(),
        "forecast": forecast(form, rows),
        "strip_head": head(150),
        "targets": [(*option, online[queues[option[0]]].online > 0) for option in forms.TARGETS],
        "policies": forms.POLICIES,
        "controllers": model_fields.CONTROLLERS,
        "proposers": shown.models.options,
        "models": shown.models,
        "representations": model_fields.REPRESENTATIONS,
        "tolerances": forms.TOLERANCES,
        "baselines": forms.BASELINES,
    }


@require_http_methods(["GET", "POST"])
def launch_page(request: SignedInRequest) -> HttpResponse:
    """Choose and launch. What was typed comes back with its errors."""
    rows = problem_rows(policy_of(request), here())
    if request.method == "POST":
        form = LaunchForm(request.POST)
        if form.is_valid():
            run = launching.launch(request.user, form.order(rows))
            return redirect("run", run.pk)
        context = {**_context(form, form, rows), "answered": True}
        return render(request, "runs/new.html", context, status=422)
    cloned: Run | None = None
    if request.GET.get("clone", "").isdigit():
        cloned = get_run_for(request.user, int(request.GET["clone"]))
    initial = initial_of(cloned, request.GET.get("problems", "")) | rules_of(request.GET)
    shown, form = LaunchForm(initial=initial), LaunchForm(_as_data(initial))
    return render(request, "runs/new.html", {**_context(form, shown, rows), "cloned": cloned})


@require_GET
def launch_summary(request: SignedInRequest) -> HttpResponse:
    """The summary for the form as it stands."""
    form = LaunchForm(request.GET)
    rows = problem_rows(policy_of(request), here())
    return render(request, "runs/new_summary.html", {"forecast": forecast(form, rows), "form": form})
