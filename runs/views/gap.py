"""A run's distance to the speed of light: the page, its charts as JSON, their numbers as tables and files."""

from __future__ import annotations

import math

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import render

from runs.access import SignedInRequest, get_run_for
from runs.charts.fast_p import AT, axis_of, fast_p, speedups
from runs.charts.gap_rows import NAMED
from runs.csv_files import csv_file
from runs.gap_charts import Chart, Scene, chart_named, charts_of
from runs.gaps import differences, gaps, others, ratio_asked


def gap_page(request: SignedInRequest, pk: int) -> HttpResponse:
    """Where is the headroom, and what did this run win?"""
    scene = _scene(request, pk)
    seen = scene.gaps
    context = {
        "run": seen.run,
        "board": seen.board,
        "gaps": seen,
        "scene": scene,
        "charts": {chart.key.replace("-", "_"): chart for chart in charts_of(scene)},
        "many": len(seen.readings) > NAMED,
        "others": others(seen.run),
        "differences": differences(scene.before, seen) if scene.before else [],
        "query": request.GET.urlencode(),
        "r": scene.r,
        "log_r": math.log2(scene.r),
        "ratios": AT,
        "ends": axis_of(seen.readings),
        "reached": sum(value >= scene.r for value in speedups(seen.readings)),
        "fast_p": fast_p(seen.readings, scene.r),
    }
    return render(request, "runs/gap.html", context)


def gap_figures(request: SignedInRequest, pk: int) -> JsonResponse:
    """All charts' data and layouts by key, or one's with ``?chart=``: one reading of the run for all of them."""
    scene = _scene(request, pk)
    wanted = request.GET.get("chart", "")
    drawn = [_named(wanted, scene)] if wanted else charts_of(scene)
    return JsonResponse({chart.key: chart.figure(scene) for chart in drawn})


def gap_csv(request: SignedInRequest, pk: int, key: str) -> HttpResponse:
    """One chart's numbers as a file."""
    scene = _scene(request, pk)
    chart = _named(key, scene)
    response = csv_file(f"{scene.gaps.run}-{chart.key}")
    chart.table(scene).write(response)
    return response


def gap_numbers(request: SignedInRequest, pk: int, key: str) -> HttpResponse:
    """One chart's numbers as a table, asked for when somebody opens it."""
    scene = _scene(request, pk)
    return render(request, "runs/gap_table.html", {"table": _named(key, scene).table(scene)})


def _scene(request: SignedInRequest, pk: int) -> Scene:
    """The run, what stands beside it (``?with=``) and r. 404 for a run that is not there."""
    run = get_run_for(request.user, pk)
    beside = request.GET.get("with", "")
    if beside and not beside.isdecimal():
        raise Http404("A run is named by its number.")
    before = gaps(get_run_for(request.user, int(beside))) if beside and int(beside) != pk else None
    return Scene(gaps(run), before, ratio_asked(request.GET.get("r", "")))


def _named(key: str, scene: Scene) -> Chart:
    found = chart_named(key, scene)
    if found is None:
        raise Http404("There is no such chart here.")
    return found
