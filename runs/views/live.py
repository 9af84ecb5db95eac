"""What the run page polls, and its chart as JSON and CSV."""

from __future__ import annotations

import csv
from dataclasses import replace

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from runs import words
from runs.access import SignedInRequest, get_run_for, may_change
from runs.board import board
from runs.change_words import changes_of
from runs.charts.best import best_chart
from runs.csv_files import csv_file
from runs.glance import Glance, glance
from runs.live import Changes, changes
from runs.models import Run
from runs.views.context import candidate_address, keys_of, retryable, shown

NOTHING_NEW = 204
STOP_POLLING = 286
"""htmx stops polling on this status."""


def run_live(request: SignedInRequest, pk: int) -> HttpResponse:
    """What changed since the cursor ``after``: fragments by id; 204 for nothing, 286 once the run has ended."""
    run = get_run_for(request.user, pk)
    look = glance(run)
    seen = look.board
    found = changes(seen, look.cursor, request.GET.get("after", ""))
    if not found and not seen.final:
        return HttpResponse(status=NOTHING_NEW)
    rows, show = keys_of(request.GET.get("rows", "")), shown(request.GET.get("show", ""))
    mine = {
        "run": run,
        "board": seen,
        "changes": found,
        "row_keys": ",".join(map(str, rows)),
        "cursor": found.cursor,
        "may_change": may_change(request.user, run),
        "retry": retryable(seen),
        "live": True,
        "show": show,
    }
    key = f"{request.GET.get('after', '')} {mine['row_keys']} {show}"
    mine["for_all"] = look.told(key, lambda: _for_all(run, look, found, rows, show))
    return render(request, "runs/live.html", mine, status=STOP_POLLING if seen.final else 200)


def _for_all(run: Run, look: Glance, found: Changes, rows: tuple[int, ...], show: str) -> SafeString:
    """The fragments in which nothing is of the person who asks."""
    shown_rows = [row for row in found.rows if not rows or row.trajectory.pk in rows]
    context = {
        "run": run,
        "board": look.board,
        "changes": replace(found, rows=tuple(shown_rows)),
        "cursor": found.cursor,
        "word": words.of_run(run),
        "now": look.now,
        "changed": changes_of(run) if found.head else [],
        "live": True,
        "show": show,
        "split": look.split if found.head or found.stream or found.panel else None,
        "stream": look.stream if found.stream else [],
    }
    return render_to_string("runs/live_all.html", context)


def run_chart(request: SignedInRequest, pk: int) -> JsonResponse:
    """The main chart's data and layout; ``?problem=`` shows one problem's attempts."""
    seen = glance(get_run_for(request.user, pk)).board
    slug = request.GET.get("problem", "")
    only = next((row for row in seen.rows if row.trajectory.problem.slug == slug), None)
    return JsonResponse(best_chart(seen, candidate_address, only))


def run_csv(request: SignedInRequest, pk: int) -> HttpResponse:
    """The main chart's numbers: one line a problem and attempt."""
    run = get_run_for(request.user, pk)
    response = csv_file(f"{run}-best-over-sol")
    writer = csv.writer(response)
    writer.writerow(["problem", "name", "attempt", "best_over_sol", "sol_s", "eager_s"])
    for row in board(run).rows:
        t = row.trajectory
        for number, value in enumerate(row.curve):
            writer.writerow([t.problem.slug, t.problem.name, number, value or "", t.sol_s or "", t.eager_s or ""])
    return response


def run_numbers(request: SignedInRequest, pk: int) -> HttpResponse:
    """The main chart's numbers as a table, asked for when somebody opens it."""
    seen = board(get_run_for(request.user, pk))
    longest = max((len(row.ended) for row in seen.rows), default=0)
    context = {
        "rows": [(row, row.curve) for row in seen.rows],
        "steps": range(longest + 1),
    }
    return render(request, "runs/numbers.html", context)
