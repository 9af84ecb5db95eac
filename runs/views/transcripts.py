"""What was asked of a model and what it said: of a trajectory, of one call, and all of it as JSON."""

from __future__ import annotations

from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from runs.access import SignedInRequest, get_run_for
from runs.models import LlmCall, Trajectory
from runs.transcript import CallRow, Transcript


def _trajectory(request: SignedInRequest, pk: int, slug: str) -> Trajectory:
    run = get_run_for(request.user, pk)
    found = Trajectory.objects.select_related("problem", "run__owner")
    return get_object_or_404(found, run=run, problem__slug=slug)


@require_GET
def transcript(request: SignedInRequest, pk: int, slug: str) -> HttpResponse:
    """All calls of a trajectory."""
    trajectory = _trajectory(request, pk, slug)
    context = {"transcript": Transcript(trajectory), "run": trajectory.run, "trajectory": trajectory}
    return render(request, "runs/transcript_page.html", context)


@require_GET
def transcript_json(request: SignedInRequest, pk: int, slug: str) -> JsonResponse:
    """A trajectory's calls, or those of ``?attempt=N``, as a file."""
    trajectory, asked = _trajectory(request, pk, slug), request.GET.get("attempt", "")
    number = int(asked) if asked.isascii() and asked.isdigit() else None
    name = f"{trajectory.run}-{slug.replace('/', '-')}{f'-{number}' if number is not None else ''}"
    return JsonResponse(
        Transcript(trajectory, number).to_json(),
        json_dumps_params={"indent": 1},
        headers={"Content-Disposition": f'attachment; filename="{name}.transcript.json"'},
    )


@require_GET
def transcript_call(request: SignedInRequest, pk: int, slug: str, call: int) -> HttpResponse:
    """One call with its texts: a page of its own, or the fragment alone for a page that unfolds it."""
    trajectory = _trajectory(request, pk, slug)
    row = get_object_or_404(LlmCall, pk=call, trajectory=trajectory)
    whole = Transcript(trajectory)
    context = {"row": CallRow(row, whole.attempts_of(row)), "run": trajectory.run, "trajectory": trajectory}
    fragment = bool(request.headers.get("HX-Request"))
    return render(request, "runs/call.html" if fragment else "runs/call_page.html", context)
