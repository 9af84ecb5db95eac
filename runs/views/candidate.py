"""One candidate, and what its page asks for later."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import render

from runs.access import SignedInRequest, get_attempt_for, may_change
from runs.candidate import CandidatePage


def candidate(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """Why is it this fast, and what would make it faster?"""
    attempt = get_attempt_for(request.user, pk, slug, number)
    page = CandidatePage(attempt, request.GET.get("unit", ""), "whole" in request.GET)
    context = {"page": page, "attempt": attempt, "run": page.run, "may_change": may_change(request.user, page.run)}
    return render(request, "runs/candidate.html", context)


def candidate_unit(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """The two code panes alone, for another unit or the whole of a long one."""
    attempt = get_attempt_for(request.user, pk, slug, number)
    page = CandidatePage(attempt, request.GET.get("unit", ""), "whole" in request.GET)
    if page.pane is None:
        raise Http404("This attempt has no generated code.")
    return render(request, "runs/code.html", {"page": page, "attempt": attempt})


def candidate_state(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """204 while the attempt stands where the page says; else the page is asked to load again."""
    attempt = get_attempt_for(request.user, pk, slug, number)
    was, cross = request.GET.get("was", ""), request.GET.get("cross", "")
    if attempt.state == was and str(attempt.cross_build_id or "") == cross:
        return HttpResponse(status=204)
    response = HttpResponse()
    response["HX-Refresh"] = "true"
    return response
