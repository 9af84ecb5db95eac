"""What a person does to a run or a candidate. Each is a POST and goes back to the page it came from."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from kernels.profiling.record import FIXED, FULL
from runs import control
from runs.access import SignedInRequest, get_attempt_for, get_run_to_change
from runs.listings import listing_kind, unit_of


@require_POST
def run_cancel(request: SignedInRequest, pk: int) -> HttpResponse:
    """Stop a run."""
    run = get_run_to_change(request.user, pk)
    control.cancel(run, request.user)
    return redirect("run", pk)


@require_POST
def candidate_cross_build(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """Compile a candidate for sm_90a when there is time."""
    get_run_to_change(request.user, pk)
    attempt = get_attempt_for(request.user, pk, slug, number)
    control.cross_build(attempt)
    messages.info(request, "Queued: it is compiled for sm_90a when nothing else is to do.")
    return redirect("candidate", pk, slug, number)


@require_POST
def candidate_disassemble(
    request: SignedInRequest, pk: int, slug: str, number: int, unit: str, kind: str
) -> HttpResponse:
    """Make the PTX or SASS of one unit when there is time."""
    get_run_to_change(request.user, pk)
    attempt, listing = get_attempt_for(request.user, pk, slug, number), listing_kind(kind)
    if listing is None or unit_of(attempt, unit) is None:
        raise Http404("This attempt has no such unit that was built for a card.")
    control.disassemble(attempt, unit, listing)
    return redirect(f"{reverse('candidate', args=[pk, slug, number])}?unit={unit}&view={kind}#code")


@require_POST
def candidate_profile(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """Profile a candidate on a worker with a card for its target."""
    get_run_to_change(request.user, pk)
    attempt = get_attempt_for(request.user, pk, slug, number)
    control.profile(attempt, FULL if request.POST.get("set") == FULL else FIXED)
    return redirect(reverse("candidate", args=[pk, slug, number]) + "#profile")
