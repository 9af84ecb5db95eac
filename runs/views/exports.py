"""A candidate as files to keep, for whoever may look at it: its source, its shared objects, one Python file."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpResponse

from runs.access import SignedInRequest, get_attempt_for
from runs.exporting import exported, shared_object


def candidate_export(request: SignedInRequest, pk: int, slug: str, number: int, target: str) -> HttpResponse:
    """The file in KernelBench's form, as a download. 404 where that target was not built."""
    attempt = get_attempt_for(request.user, pk, slug, number)
    text = exported(attempt, target)
    if text is None:
        raise Http404("This attempt has no build for that target.")
    name = f"{attempt.kernel}-{target}-model_new.py"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/x-python; charset=utf-8", headers=headers)


def candidate_source(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """Its text as a file, as it was submitted."""
    kernel = get_attempt_for(request.user, pk, slug, number).kernel
    headers = {"Content-Disposition": f'attachment; filename="{kernel}.{kernel.language}"'}
    return HttpResponse(kernel.source, content_type="text/plain; charset=utf-8", headers=headers)


def candidate_object(request: SignedInRequest, pk: int, slug: str, number: int, unit: str) -> FileResponse:
    """The shared object of one of its units. 404 where there is none, or it left the cache."""
    path = shared_object(get_attempt_for(request.user, pk, slug, number), unit)
    if path is None:
        raise Http404("That unit was not built, or its object left the build cache: build it again.")
    return FileResponse(
        path.open("rb"), as_attachment=True, filename=f"{unit}.so", content_type="application/octet-stream"
    )
