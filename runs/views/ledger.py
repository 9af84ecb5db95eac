"""The audit log: who did what, for admins."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.access import SignedInRequest
from runs.csv_files import csv_stream
from runs.ledger_list import DeedFilters, as_csv, deeds_before
from runs.ledger_models import Action, Through
from runs.roles import Right, require


@require_safe
def ledger(request: SignedInRequest) -> HttpResponse:
    """Newest first, fifty at a time."""
    require(request.user, Right.ADMINISTER)
    filters = DeedFilters.of(request.GET)
    deeds, following = deeds_before(filters, request.GET.get("before", ""))
    context = {
        "deeds": deeds,
        "following": following,
        "filters": filters,
        "actions": Action.choices,
        "ways": Through.choices,
        "first": not request.GET.get("before"),
    }
    return render(request, "people/log.html", context)


@require_safe
def ledger_csv(request: SignedInRequest) -> HttpResponseBase:
    """What the filters leave, as a file."""
    require(request.user, Right.ADMINISTER)
    return csv_stream("mucutlass-log", as_csv(DeedFilters.of(request.GET)))
