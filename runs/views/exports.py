"""A candidate as one Python file, for whoever may look at it."""

from __future__ import annotations

from django.http import Http404, HttpResponse

from runs.access import SignedInRequest, get_attempt_for
from runs.exporting import exported


def candidate_export(request: SignedInRequest, pk: int, slug: str, number: int, target: str) -> HttpResponse:
    """The file in KernelBench's form, as a download. 404 where that target was not built."""
    attempt = get_attempt_for(request.user, pk, slug, number)
    text = exported(attempt, target)
    if text is None:
        raise Http404("This attempt has no build for that target.")
    name = f"{attempt.kernel}-{target}-model_new.py"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/x-python; charset=utf-8", headers=headers)
