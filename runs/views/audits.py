"""Auditing files without a run: the page that takes them, and the reports that it keeps."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_safe

from kernels.models import Problem
from runs import audits
from runs.access import SignedInRequest
from runs.audit_forms import DEFAULTS, FILES_SAID, PASTED_SAID, PROBLEM_SAID, UPLOAD_BYTES, UploadForm
from runs.audit_models import Audit
from runs.audit_page import OUTCOMES, AuditPage
from runs.forms import LANGUAGES, POLICIES
from runs.queries import PAGE
from runs.quota import Quota
from sol.audit import DETECTORS

TOO_LARGE = 413


@csrf_exempt  # the quota must be there before the token is read from the body; the page itself is protected
@require_http_methods(["GET", "HEAD", "POST"])
def audit_files(request: SignedInRequest) -> HttpResponse:
    """Give files, get evidence."""
    request.upload_handlers.insert(0, Quota(request, UPLOAD_BYTES))
    try:
        _ = request.POST  # read here: the check of the token would take what is too much for a forgery
    except (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent):
        unread = f"{FILES_SAID}; a text: {PASTED_SAID}"
        return _page(request, UploadForm(initial=DEFAULTS), status=TOO_LARGE, unread=unread)
    answer: HttpResponse = _audit_files(request)
    return answer


@csrf_protect
def _audit_files(request: SignedInRequest) -> HttpResponse:
    if request.method != "POST":
        return _page(request, UploadForm(initial=DEFAULTS))
    posted, files = request.POST, request.FILES  # read first: that is when the quota is felt
    form = UploadForm(posted, files, over_quota=getattr(request, "over_quota", False))
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        audit = audits.make(request.user, form.given, form.beside)
    except audits.AuditsBusy as error:
        return _page(request, form, status=503, busy=str(error))
    return redirect("audit", audit.pk)


def _page(
    request: SignedInRequest, form: UploadForm, status: int = 200, *, busy: str = "", unread: str = ""
) -> HttpResponse:
    earlier = Audit.objects.filter(owner=request.user).order_by("-pk").defer("record")
    typed = form.data if form.is_bound else DEFAULTS
    context: dict[str, Any] = {
        "form": form,
        "typed": {name: typed.get(name, "") for name in ("text", "language", "problem", "own_problem", "policy")},
        "files_lost": form.is_bound and bool(form.files),
        "busy": busy,
        "unread": unread,
        "problems": Problem.objects.values_list("slug", "name"),
        "languages": LANGUAGES,
        "policies": POLICIES,
        "said": {"files": FILES_SAID, "text": PASTED_SAID, "problem": PROBLEM_SAID},
        "detectors": len(DETECTORS),
        "page": Paginator(earlier, PAGE).get_page(request.GET.get("page")),
        "outcomes": [(outcome.value, words) for outcome, words in OUTCOMES.items()],
    }
    return render(request, "audit/files.html", context, status=status)


@require_safe
def audit_report(request: SignedInRequest, pk: int) -> HttpResponse:
    """What was seen in the files, beside their code. Every signed-in person may look."""
    audit = get_object_or_404(Audit.objects.select_related("owner", "problem"), pk=pk)
    page = AuditPage(audit, request.GET.get("file", ""), "whole" in request.GET)
    return render(request, "audit/report.html", {"audit": audit, "page": page})


@require_safe
def audit_lines(request: SignedInRequest, pk: int) -> HttpResponse:
    """The report as JSON Lines, in the form of the command line."""
    del request
    audit = get_object_or_404(Audit, pk=pk)
    response = HttpResponse(AuditPage(audit).json_lines(), content_type="application/jsonl; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{audit}.jsonl"'
    return response
