"""Launching a run or a grid of runs, and the summary of what will happen."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from kernels.errors import UserError
from kernels.targets import Target
from runs import forms, grids, launching, model_fields, presets
from runs.access import SignedInRequest, get_run_for
from runs.charts.strip import head
from runs.errors import PresetUnnamed
from runs.fleet import device_queue, queue_states
from runs.forecast import forecast
from runs.forms import LaunchForm, initial_of, rules_of
from runs.grid_form import STEERINGS, GridForm
from runs.headroom import ProblemRow, here, problem_rows
from runs.models import Preset, Run
from runs.roles import Right, require
from runs.views.problems import policy_of


def as_data(initial: dict[str, Any]) -> QueryDict:
    """First values in the form of an answer, so that the summary reads both alike."""
    data = QueryDict(mutable=True)
    for name, value in initial.items():
        data.setlist(name, [str(v) for v in value] if isinstance(value, list) else [str(value)])
    for name in ("steering", "memory"):
        if not initial.get(name):
            data.pop(name, None)
    return data


def _plan(form: LaunchForm, grid: GridForm) -> grids.Plan | None:
    """What the grid would make; None where nothing is varied."""
    axes = grid.axes()
    form.is_valid()
    return grids.plan_of(axes, getattr(form, "cleaned_data", {}), len(form.chosen())) if axes else None


def _context(form: LaunchForm, shown: LaunchForm, grid: GridForm, rows: list[ProblemRow]) -> dict[str, Any]:
    queues = {value: device_queue(Target(value)) for value, _, _ in forms.TARGETS}
    online = queue_states(tuple(queues.values()))
    return {
        "form": shown,
        "grid": grid,
        "plan": _plan(form, grid),
        "most_runs": grids.MOST_RUNS,
        "steerings": STEERINGS,
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
        "orders": forms.ORDERS,
        "baselines": forms.BASELINES,
    }


def key_of(data: QueryDict) -> str:
    """What tells a form that was sent twice from two that are alike: its own number with all that was typed."""
    if not data.get("once"):
        return ""
    typed = sorted((name, data.getlist(name)) for name in data if name != "csrfmiddlewaretoken")
    return hashlib.sha256(json.dumps(typed).encode()).hexdigest()


@require_http_methods(["GET", "POST"])
def launch_page(request: SignedInRequest) -> HttpResponse:
    """Choose and launch. What was typed comes back with its errors; a grid is shown before it is launched."""
    require(request.user, Right.LAUNCH)
    rows = problem_rows(policy_of(request), here())
    if request.method == "POST":
        return _launch(request, rows)
    cloned, preset = _cloned(request), _preset(request)
    initial = presets.initial_of_preset(preset) if preset else initial_of(cloned, request.GET.get("problems", ""))
    initial |= rules_of(request.GET)
    shown, form = LaunchForm(initial=initial), LaunchForm(as_data(initial))
    grid = GridForm({}, models=shown.models)
    context = {"cloned": cloned, "preset": preset, "gone": _gone(initial, shown)}
    return _page(request, context | _context(form, shown, grid, rows))


def _page(request: SignedInRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    own = presets.presets_for(request.user)
    saved = [(one, presets.may_delete(request.user, one)) for one in own]
    preset: Preset | None = context.get("preset")
    usual = {
        "presets": saved,
        "once": secrets.token_hex(16),
        "preset": preset,
        "preset_name": preset.name if preset is not None else "",
        "preset_shared": preset is not None and preset.shared,
        "preset_error": "",
    }
    return render(request, "runs/new.html", usual | context, status=status)


def _cloned(request: SignedInRequest) -> Run | None:
    """The run of the address whose settings are taken over."""
    key = request.GET.get("from", "") or request.GET.get("clone", "")
    return get_run_for(request.user, int(key)) if key.isascii() and key.isdigit() else None


def _preset(request: SignedInRequest) -> Preset | None:
    """The preset of the address."""
    key = request.GET.get("preset", "")
    return presets.preset_for(request.user, int(key)) if key.isascii() and key.isdigit() else None


def _gone(initial: dict[str, Any], form: LaunchForm) -> str:
    """The proposer that the settings name and that cannot be chosen here any more; empty where all can."""
    known = {value for value, _, _ in form.models.options}
    name = str(initial.get("proposer", ""))
    return "" if name in known else name


def _launch(request: SignedInRequest, rows: list[ProblemRow]) -> HttpResponse:
    form, wish = LaunchForm(request.POST), request.POST.get("grid", "")
    if "save" in request.POST:
        return _save(request, form, rows)
    grid = GridForm(request.POST if wish else {}, models=form.models)
    valid = form.is_valid() and grid.is_valid()
    if valid and not wish:
        run = launching.launch(request.user, form.launch_order(rows), key=key_of(request.POST))
        return redirect("run", run.pk)
    plan = _plan(form, grid)
    if valid and wish == "launch" and plan is not None and plan.cells:
        try:
            order = form.launch_order(rows)
            made = grids.launch_grid(request.user, order, plan, key=key_of(request.POST))
            return redirect("grid", made.pk)
        except UserError as error:
            messages.error(request, str(error))
    context = {**_context(form, form, grid, rows), "answered": True, "looking": wish}
    return _page(request, context, status=200 if valid and wish == "look" else 422)


def _save(request: SignedInRequest, form: LaunchForm, rows: list[ProblemRow]) -> HttpResponse:
    """Keep the form under a name, right or not; what was typed is still there afterwards."""
    name = " ".join(request.POST.get("preset_name", "").replace("\0", "").split())[: presets.NAME_LENGTH]
    shared, overwrite = "preset_shared" in request.POST, "preset_overwrite" in request.POST
    try:
        if not name:
            raise PresetUnnamed
        one = presets.save(request.user, name, request.POST, shared=shared, overwrite=overwrite)
    except UserError as error:
        grid = GridForm(request.POST, models=form.models)
        context = {**_context(form, form, grid, rows), "preset_error": str(error)}
        context |= {"preset_name": name, "preset_shared": shared}
        return _page(request, context, status=422)
    messages.info(request, f"Saved as {name}, for {'everybody' if shared else 'you'} to choose.")
    return redirect(f"{reverse('runs-new')}?preset={one.pk}")


@require_POST
def preset_delete(request: SignedInRequest, pk: int) -> HttpResponse:
    """Take a preset away."""
    one = presets.preset_for(request.user, pk)
    if one is None:
        raise Http404("There is no such preset.")
    presets.delete(request.user, one)
    messages.info(request, f"The preset {one.name} is deleted. Runs launched with it stay.")
    return redirect("runs-new")


@require_GET
def launch_summary(request: SignedInRequest) -> HttpResponse:
    """The summary for the form as it stands."""
    require(request.user, Right.LAUNCH)
    form = LaunchForm(request.GET)
    grid = GridForm(request.GET, models=form.models)
    rows = problem_rows(policy_of(request), here())
    context = {"forecast": forecast(form, rows), "form": form, "grid": grid, "plan": _plan(form, grid)}
    return render(request, "runs/new_summary.html", context | {"most_runs": grids.MOST_RUNS})
