"""One candidate, and what its page asks for later."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import render

from runs.access import SignedInRequest, get_attempt_for, may_change
from runs.candidate import CandidatePage
from runs.listings import ListingPane, listing_kind, unit_of
from runs.roles import Right, may
from runs.views.live import NOTHING_NEW


def candidate(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """Why is it this fast, and what would make it faster?"""
    return render(request, "runs/candidate.html", _context(request, pk, slug, number))


def candidate_unit(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """The two code panes alone, for another unit or view, or the whole of a long one.

    A page that waits for PTX or SASS says what it knows in ``was``: 204 while that still is so.
    """
    context = _context(request, pk, slug, number)
    page: CandidatePage = context["page"]
    if page.pane is None:
        raise Http404("This attempt has no generated code.")
    if page.listing is not None and request.GET.get("was") == page.listing.state:
        return HttpResponse(status=NOTHING_NEW)
    return render(request, "runs/code.html", context)


def candidate_listing(
    request: SignedInRequest, pk: int, slug: str, number: int, unit: str, kind: str
) -> FileResponse:
    """The whole PTX or SASS of a unit, to keep. 404 until it was made."""
    attempt, listing = get_attempt_for(request.user, pk, slug, number), listing_kind(kind)
    built = unit_of(attempt, unit)
    pane = ListingPane(attempt, unit, listing, built) if listing is not None and built is not None else None
    if pane is None or pane.file is None:
        raise Http404("It was not made yet.")
    return FileResponse(
        pane.file.open("rb"),
        as_attachment=True,
        filename=pane.file_name,
        content_type="text/plain; charset=utf-8",
    )


def _context(request: SignedInRequest, pk: int, slug: str, number: int) -> dict[str, Any]:
    attempt = get_attempt_for(request.user, pk, slug, number)
    asked = request.GET
    unit, view, launch = (asked.get(name, "") for name in ("unit", "view", "launch"))
    page = CandidatePage(attempt, unit, "whole" in asked, view, launch, reader=request.user)
    return {
        "page": page,
        "attempt": attempt,
        "run": page.run,
        "may_change": may_change(request.user, page.run),
        "may_audit": may(request.user, Right.LAUNCH),
    }


def candidate_state(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """204 while the attempt stands where the page says; else the page is asked to load again."""
    attempt = get_attempt_for(request.user, pk, slug, number)
    was, cross = request.GET.get("was", ""), request.GET.get("cross", "")
    if attempt.state == was and str(attempt.cross_build_id or "") == cross:
        return HttpResponse(status=204)
    response = HttpResponse()
    response["HX-Refresh"] = "true"
    return response
