"""Remarks on a candidate, its mark of review, and where somebody is named."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from runs import talking
from runs.access import SignedInRequest, get_attempt_for
from runs.candidate import CandidatePage
from runs.models import Remark

PAGE = 50


@require_POST
def remark(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """Say something about a candidate, or about one of its lines."""
    attempt = get_attempt_for(request.user, pk, slug, number)
    page = CandidatePage(attempt, reader=request.user)
    typed = {name: request.POST.get(name, "") for name in ("text", "unit", "line")}
    try:
        spot = talking.spot_of(typed["unit"], typed["line"], page.talk)
        made = talking.say(attempt, request.user, typed["text"], spot)
    except talking.RemarkUnfit as unfit:
        context = {"page": page, "attempt": attempt, "run": page.run, "typed": typed, "error": str(unfit)}
        return render(request, "runs/remark.html", context, status=422)
    query = f"?unit={spot.unit}" if spot.unit else ""
    return redirect(f"{reverse('candidate', args=[pk, slug, number])}{query}#r{made.pk}")


@require_POST
def remark_withdraw(request: SignedInRequest, pk: int) -> HttpResponse:
    """Take a remark back."""
    found = get_object_or_404(Remark.objects.select_related("attempt__trajectory__problem"), pk=pk)
    talking.take_back(found, request.user)
    trajectory = found.attempt.trajectory
    address = reverse("candidate", args=[trajectory.run_id, trajectory.problem.slug, found.attempt.number])
    return redirect(f"{address}#talk")


@require_POST
def reviewed(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """Mark a candidate as reviewed, or take the mark away."""
    attempt = get_attempt_for(request.user, pk, slug, number)
    talking.review(attempt, request.user, request.POST.get("on") == "1")
    return redirect(f"{reverse('candidate', args=[pk, slug, number])}#talk")


def mentions(request: SignedInRequest) -> HttpResponse:
    """Where the reader is named; looking at a page of it is what marks those on it as seen."""
    page = Paginator(talking.mentions_of(request.user), PAGE).get_page(request.GET.get("page"))
    rows = list(page.object_list)
    response = render(request, "runs/mentions.html", {"page": page, "mentions": rows})
    talking.mark_seen(request.user, rows)
    return response
