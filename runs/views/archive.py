"""A run as a file: downloading it, taking one in, and deleting a run."""

from __future__ import annotations

from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs import ledger
from runs.access import SignedInRequest, get_run_for, get_run_to_delete
from runs.archive.errors import AlreadyHere, ArchiveError, ArchiveTooLarge
from runs.archive.form import FORMAT
from runs.archive.restoring import import_archive
from runs.archive.writing import archive
from runs.deleting import delete_run
from runs.ledger_models import Action
from runs.models import Import, Run
from runs.quota import Quota
from runs.roles import Right, require

_MIB = 2**20


@require_safe
def run_export(request: SignedInRequest, pk: int) -> HttpResponseBase:
    """The archive as a download, written while it is sent."""
    run = get_run_for(request.user, pk)
    try:
        pieces = archive(run)
    except ArchiveError as error:
        messages.error(request, str(error))
        return redirect("run", pk)
    headers = {"Content-Disposition": f'attachment; filename="{run}.zip"', "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(pieces, content_type="application/zip", headers=headers)


@csrf_exempt  # the quota must be there before the token is read from the body; the page itself is protected
@require_http_methods(["GET", "HEAD", "POST"])
def run_import(request: SignedInRequest) -> HttpResponse:
    """Take in an archive."""
    require(request.user, Right.LAUNCH)
    request.upload_handlers.insert(0, Quota(request, settings.ARCHIVE_BYTES))
    answer: HttpResponse = _run_import(request)
    return answer


@csrf_protect
def _run_import(request: SignedInRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request)
    given = request.FILES.get("archive")  # read first: that is when the quota is felt
    limit = f"{settings.ARCHIVE_BYTES // _MIB} MiB"
    if getattr(request, "over_quota", False):
        return _page(request, str(ArchiveTooLarge(size=f"more than {limit}", limit=limit)))
    if given is None:
        return _page(request, "no file was chosen; an archive of export_run would be right")
    try:
        run = _taken(request, given)
    except AlreadyHere as error:
        messages.info(request, f"{str(error)[:1].upper()}{str(error)[1:]}.")
        return redirect("run", error.fields["run"].pk)
    except ArchiveError as error:
        return _page(request, f"{error.slug()}: {error}")
    messages.success(request, f"Imported as {run}; it is shown as it was measured elsewhere.")
    return redirect("run", run.pk)


def _taken(request: SignedInRequest, given: Any) -> Run:
    with NamedTemporaryFile(suffix=".zip") as file:
        for piece in given.chunks():
            file.write(piece)
        file.flush()
        return import_archive(Path(file.name), request.user)


def _page(request: SignedInRequest, error: str = "") -> HttpResponse:
    context = {
        "error": error,
        "limit": settings.ARCHIVE_BYTES // _MIB,
        "format": FORMAT,
        "imports": Import.objects.filter(run__isnull=False).select_related("run", "imported_by")[:50],
    }
    return render(request, "runs/import.html", context, status=422 if error else 200)


@require_POST
def run_delete(request: SignedInRequest, pk: int) -> HttpResponse:
    """Delete a run that has ended."""
    run = get_run_to_delete(request.user, pk)
    try:
        delete_run(run)
    except ArchiveError as error:
        messages.error(request, str(error))
        return redirect("run", pk)
    ledger.record(request.user, Action.DELETED, what=f"r-{pk} {run.title}", words=f"of {run.owner.get_username()}")
    words = f"{run} {run.title} is deleted. Its kernels, their verdicts, its problems and its lessons are kept."
    messages.success(request, words)
    return redirect("runs-list")
