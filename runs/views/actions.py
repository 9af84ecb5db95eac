"""What a person does to a run or a candidate. Each is a POST and goes back to the page it came from."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from runs import control
from runs.access import SignedInRequest, get_attempt_for, get_run_to_change


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
