"""A candidate's profile: the panel alone, its record, and its report."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from runs.access import SignedInRequest, get_attempt_for, may_change
from runs.candidate import CandidatePage
from runs.profiles import profiles_of, report_file
from runs.views.live import NOTHING_NEW


def profile_panel(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """The panel alone, for another launch or after a wait.

    A page that waits says what it knows in ``was``: 204 while that still is so.
    """
    attempt = get_attempt_for(request.user, pk, slug, number)
    page = CandidatePage(attempt, launch=request.GET.get("launch", ""))
    if request.GET.get("was") == page.profile.state:
        return HttpResponse(status=NOTHING_NEW)
    context = {"page": page, "attempt": attempt, "run": page.run, "may_change": may_change(request.user, page.run)}
    return render(request, "runs/profile.html", context)


def profile_file(
    request: SignedInRequest, pk: int, slug: str, number: int, row: int, form: str
) -> HttpResponseBase:
    """The record as JSON, or the report as Nsight Compute reads it. 404 where there is none (any more)."""
    attempt = get_attempt_for(request.user, pk, slug, number)
    found = next((one for one in profiles_of(attempt) if one.pk == row), None)
    if found is None:
        raise Http404("This attempt has no such profile.")
    name = f"{attempt.kernel}-{attempt.trajectory.run.target}"
    if form == "json":
        headers = {"Content-Disposition": f'attachment; filename="{name}.profile.json"'}
        return JsonResponse(found.record, json_dumps_params={"indent": 1}, headers=headers)
    path = report_file(found) if form == "ncu-rep" else None
    if path is None:
        raise Http404("Its report is not kept.")
    return FileResponse(
        path.open("rb"), as_attachment=True, filename=f"{name}.ncu-rep", content_type="application/octet-stream"
    )
