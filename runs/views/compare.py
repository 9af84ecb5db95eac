"""Candidates or runs side by side: the page, its charts as JSON, their numbers as tables and files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from runs.access import SignedInRequest
from runs.charts import template as t
from runs.charts.tables import Table
from runs.comparing.asked import CANDIDATES, Asked, asked, kind_of
from runs.comparing.candidate_charts import CANDIDATE_CHARTS
from runs.comparing.candidates import CandidatesSeen, candidates_seen
from runs.comparing.charts import Chart, Seen
from runs.comparing.chosen import chosen_still
from runs.comparing.errors import ComparisonRefused
from runs.comparing.run_charts import RUN_CHARTS
from runs.comparing.runs import RunsSeen, runs_seen
from runs.csv_files import csv_file

View = Callable[..., HttpResponse]


def _in_words(view: View) -> View:
    """What is wrong with the address is said on a page that keeps all that was chosen."""

    @wraps(view)
    def answered(request: SignedInRequest, **named: Any) -> HttpResponse:
        try:
            return view(request, **named)
        except ComparisonRefused as error:
            context = {"error": str(error), "still": chosen_still(request.user, request.GET)}
            return render(request, "compare/refused.html", context, status=error.status)

    return answered


@_in_words
def compare(request: SignedInRequest) -> HttpResponse:
    """What differs between these, and by how much?"""
    wanted = _asked(request)
    if wanted is None:
        return render(request, "compare/none.html")
    query = request.GET.urlencode()
    if wanted.kind is CANDIDATES:
        found = candidates_seen(request.user, wanted)
        context = {"seen": found, "charts": CANDIDATE_CHARTS, "query": query}
        return render(request, "compare/candidates.html", context)
    runs = runs_seen(request.user, wanted, request.GET.get("page"))
    return render(request, "compare/runs.html", {"seen": runs, "charts": RUN_CHARTS, "query": query})


@_in_words
def compare_figures(request: SignedInRequest) -> JsonResponse:
    """All charts' data and layouts by key, from one reading."""
    return JsonResponse({key: figure() for key, (figure, _) in _charts(request).items()})


@_in_words
def compare_csv(request: SignedInRequest, key: str) -> HttpResponse:
    """One chart's numbers as a file."""
    table = _table(request, key)
    response = csv_file(f"compare-{key}")
    table.write(response)
    return response


@_in_words
def compare_numbers(request: SignedInRequest, key: str) -> HttpResponse:
    """One chart's numbers as a table, asked for when somebody opens it."""
    return HttpResponse(render_to_string("runs/gap_table.html", {"table": _table(request, key)}, request))


def _asked(request: SignedInRequest) -> Asked | None:
    kind = kind_of(request.GET)
    return asked(request.GET, kind) if kind is not None else None


def _seen(request: SignedInRequest) -> CandidatesSeen | RunsSeen:
    wanted = _asked(request)
    if wanted is None:
        raise Http404("Nothing is chosen: there is no chart.")
    return candidates_seen(request.user, wanted) if wanted.kind is CANDIDATES else runs_seen(request.user, wanted)


def _charts(request: SignedInRequest) -> dict[str, tuple[Callable[[], t.Figure], Callable[[], Table]]]:
    seen = _seen(request)
    if isinstance(seen, CandidatesSeen):
        return {key: _both(chart, seen.sides) for key, chart in CANDIDATE_CHARTS.items()}
    return {key: _both(chart, seen) for key, chart in RUN_CHARTS.items()}


def _both(chart: Chart[Seen], seen: Seen) -> tuple[Callable[[], t.Figure], Callable[[], Table]]:
    return partial(chart.figure, seen), partial(chart.table, seen)


def _table(request: SignedInRequest, key: str) -> Table:
    found = _charts(request).get(key)
    if found is None:
        raise Http404("There is no such chart here.")
    return found[1]()
