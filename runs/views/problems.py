"""The list of problems, and one problem."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from kernels.highlight import highlight
from kernels.models import Problem, ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import from_json
from kernels.targets import Policy
from runs.access import SignedInRequest
from runs.charts.strip import head
from runs.headroom import Filters, groups, here, problem_rows
from runs.queries import best_attempts_on, trajectories_on
from sol.bounds.record import Bounds
from sol.models import Bound


def filters_of(request: HttpRequest) -> Filters:
    """The filters in the address."""
    get = request.GET
    return Filters(
        text=get.get("q", "").strip(),
        collections=tuple(get.getlist("collection")),
        kinds=tuple(get.getlist("kind")),
        bounds=tuple(get.getlist("bound")),
        statuses=tuple(get.getlist("status")),
    )


def policy_of(request: HttpRequest) -> str:
    """The precision policy in the address; strict where it names none."""
    policy = request.GET.get("policy", "")
    return policy if policy in list(Policy) else Policy.STRICT


def problem_list(request: SignedInRequest) -> HttpResponse:
    """Where is the headroom, and what could not be looked at?"""
    device, policy, filters = here(), policy_of(request), filters_of(request)
    every = problem_rows(policy, device)
    context = {
        "rows": [row for row in every if filters.takes(row)],
        "total": len(every),
        "groups": groups(every, filters),
        "filters": filters,
        "device": device,
        "policy": policy,
        "policies": list(Policy),
        "strip_head": head(150),
    }
    return render(request, "problems/list.html", context)


def _sizes(problem: Problem) -> list[dict[str, Any]]:
    seen = {row.size: row for row in ProblemSize.objects.filter(problem=problem)}
    found = []
    for size in problem.sizes:
        row = seen.get(size)
        record = from_json(row.record, Inspection) if row is not None and row.record else None
        found.append({"name": size, "row": row, "inspection": record})
    return found


def _bounds(problem: Problem) -> list[Bound]:
    """A problem's bounds; where archives brought machines of one name, those on the last."""
    every = Bound.objects.filter(problem=problem).select_related("device").order_by("device_id")
    latest = {(row.size, row.policy, row.device.name, bool(row.device.elsewhere)): row for row in every}
    return sorted(latest.values(), key=_measured_here_first)


def _measured_here_first(row: Bound) -> tuple[bool, str, int]:
    """Device by device, those that archives brought last; policies from the strictest on."""
    return bool(row.device.elsewhere), row.device.name, list(Policy).index(Policy(row.policy))


def problem_page(request: SignedInRequest, slug: str) -> HttpResponse:
    """One problem: what it computes, how fast it could be, and what has been tried."""
    problem = get_object_or_404(Problem, slug=slug)
    bounds = _bounds(problem)
    context = {
        "problem": problem,
        "source": highlight(problem.source, "python"),
        "sizes": _sizes(problem),
        "bounds": [(row, from_json(row.record, Bounds)) for row in bounds],
        "devices": len({row.device_id for row in bounds}),
        "attempts": best_attempts_on(problem.pk),
        "trajectories": trajectories_on(problem.pk),
    }
    return render(request, "problems/problem.html", context)
