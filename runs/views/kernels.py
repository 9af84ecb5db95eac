"""The kernel browser: every kernel, the best of each problem, how a record fell, one kernel."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from kernels.models import Kernel, Problem
from kernels.source_search import LEAST, MOST
from runs.access import SignedInRequest
from runs.browser import pages
from runs.browser.counts import counts
from runs.browser.files import kernel_lines, leaderboard_lines
from runs.browser.filters import KernelFilters, ask
from runs.browser.kernel import kernel_page, named
from runs.browser.leaderboard import ORDERS, devices, leaderboard, lines
from runs.browser.records import record_table, told_records
from runs.browser.rows import DIGITS, STRIP_WIDTH, KernelRow, shown
from runs.charts.record import record_chart
from runs.charts.strip import head
from runs.csv_files import csv_file, csv_stream
from runs.kernel_models import Contender


def kernel_list(request: SignedInRequest) -> HttpResponse:
    """Every kernel across runs, once a problem and card: filtered, counted, sorted, fifty a page."""
    filters, sort = KernelFilters.of(request.GET), pages.sort_of(request.GET.get("sort", ""))
    asked = ask(filters)
    told = counts(filters, asked)
    after, before = request.GET.get("after", ""), request.GET.get("before", "")
    window = pages.window(shown(asked.found(told.found)), sort, after, before, timed=asked.timed)
    context = {
        "filters": filters,
        "counts": told,
        "matches": asked.matches,
        "least": LEAST,
        "most": MOST,
        "sort": sort,
        "window": window,
        "rows": [KernelRow(one) for one in window.rows],
        "strip_head": head(STRIP_WIDTH),
    }
    return render(request, "kernels/list.html", context)


def kernel_csv(request: SignedInRequest) -> HttpResponseBase:
    """The filtered list as a file, in its order."""
    asked, sort = ask(KernelFilters.of(request.GET)), pages.sort_of(request.GET.get("sort", ""))
    rows = pages.in_order(asked.found(0), sort)
    return csv_stream("kernels", kernel_lines(rows))


def kernel_best(request: SignedInRequest) -> HttpResponse:
    """The best honest kernel of each problem on one card, with what was left out."""
    order = request.GET.get("sort", "")
    order = order if order in ORDERS else "gap"
    board = leaderboard(_asked_device(request), order)
    page = Paginator(board.rows, pages.PAGE).get_page(request.GET.get("page"))
    context = {
        "board": board,
        "page": page,
        "lines": lines(board, list(page.object_list)),
        "order": order,
        "order_words": ORDERS[order][2],
        "total": Contender.objects.count(),
        "strip_head": head(STRIP_WIDTH),
    }
    return render(request, "kernels/best.html", context)


def kernel_best_csv(request: SignedInRequest) -> HttpResponseBase:
    """The leaderboard as a file, in its order."""
    board = leaderboard(_asked_device(request), request.GET.get("sort", ""))
    return csv_stream("leaderboard", leaderboard_lines(board))


def _asked_device(request: SignedInRequest) -> str:
    return request.GET.get("device", "").replace("\0", "")


def _device(request: SignedInRequest) -> str:
    """The card in the address, else the commonest."""
    return _asked_device(request) or next((name for name, _ in devices()), "")


def kernel_record(request: SignedInRequest, slug: str) -> HttpResponse:
    """How the record of one problem on a card fell: by whom, in which run."""
    problem, device = get_object_or_404(Problem.objects.defer("source"), slug=slug), _device(request)
    told = told_records(problem, device)
    context = {
        "problem": problem,
        "device": device,
        "devices": devices(),
        "told": told,
        "table": record_table(told),
    }
    return render(request, "kernels/record.html", context)


def kernel_record_chart(request: SignedInRequest, slug: str) -> JsonResponse:
    """The record's figure."""
    problem = get_object_or_404(Problem.objects.defer("source"), slug=slug)
    return JsonResponse(record_chart(told_records(problem, _device(request)), timezone.now()))


def kernel_record_csv(request: SignedInRequest, slug: str) -> HttpResponse:
    """The record's table as a file."""
    problem = get_object_or_404(Problem.objects.defer("source"), slug=slug)
    response = csv_file(f"record-{slug.replace('/', '-')}")
    record_table(told_records(problem, _device(request))).write(response)
    return response


def kernel(request: SignedInRequest, name: str) -> HttpResponse:
    """One kernel by the first digits of its digest; a choice where several begin with them."""
    found = named(name)
    if not found:
        raise Http404(f"No kernel is called {name}: k- and the first six digits or more of one would be right.")
    if len(found) > 1:
        return render(request, "kernels/alike.html", {"name": name, "found": found, "digits": DIGITS})
    short = f"k-{found[0].digest[:DIGITS]}"
    if name != short:
        return redirect("kernel", short)
    one = get_object_or_404(Kernel, pk=found[0].pk)
    page = kernel_page(one, request.GET.get("page"), whole="whole" in request.GET)
    context = {
        "kernel": one,
        "page": page,
        "attempts": list(page.attempts.object_list),
        "strip_head": head(STRIP_WIDTH),
    }
    return render(request, "kernels/kernel.html", context)
