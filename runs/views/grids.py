"""Grids of runs: their list, and one with its runs' figures side by side."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render

from runs import grids, queries
from runs.access import SignedInRequest
from runs.states import FINAL


def grid_list(request: SignedInRequest) -> HttpResponse:
    """Grids, newest first."""
    found = grids.grids().annotate(count=Count("runs")).order_by("-pk")
    page = Paginator(found, queries.PAGE).get_page(request.GET.get("page"))
    return render(request, "runs/grids.html", {"page": page, "grids": list(page.object_list)})


def grid_page(request: SignedInRequest, pk: int) -> HttpResponse:
    """One grid: each of its runs, and up to six of them to compare."""
    grid = get_object_or_404(grids.grids(), pk=pk)
    rows = grids.rows_of(grid)
    varied = {name for name in ("controller", "proposer", "seed", "steering") if _differ(rows, name)}
    context = {
        "grid": grid,
        "rows": rows,
        "varied": varied,
        "open": sum(row.run.state not in FINAL for row in rows),
        "ended": sum(row.ended for row in rows),
        "budget": sum(row.budget for row in rows),
        "compared": grids.COMPARED,
    }
    return render(request, "runs/grid.html", context)


def _differ(rows: list[queries.RunRow], name: str) -> bool:
    return len({getattr(row.run, name) for row in rows}) > 1
