"""A run's audit report, on a page and in files, and the audit of one stored candidate."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from runs.access import SignedInRequest, get_attempt_for, get_run_for
from runs.auditing import NotAudited
from runs.csv_files import csv_file
from runs.evidence import looked_at
from runs.flags_pane import audit_now
from runs.roles import Right, require
from runs.run_audit import RunAudit
from runs.run_audit_files import report_form, write_cases
from runs.states import FINAL
from sol.audit import DETECTORS
from sol.audit.verdict import Verdict
from sol.audit.version import audit_version


@require_safe
def run_audit(request: SignedInRequest, pk: int) -> HttpResponse:
    """What was flagged, what became of it, and what the figures are with and without."""
    report = RunAudit(get_run_for(request.user, pk), whole="whole" in request.GET)
    context = {
        "run": report.run,
        "report": report,
        "board": report.board,
        "verdicts": list(Verdict),
        "detectors": DETECTORS,
        "looked": looked_at(),
        "version": audit_version(),
        "now": timezone.now(),
    }
    return render(request, "runs/audit.html", context)


@require_safe
def run_audit_json(request: SignedInRequest, pk: int) -> HttpResponse:
    """The whole report as one JSON object."""
    report = RunAudit(get_run_for(request.user, pk), whole=True)
    response = JsonResponse(report_form(report), json_dumps_params={"ensure_ascii": False, "indent": 1})
    response["Content-Disposition"] = f'attachment; filename="{report.run}-audit.json"'
    return response


@require_safe
def run_audit_csv(request: SignedInRequest, pk: int) -> HttpResponse:
    """A row for each attempt with a case."""
    report = RunAudit(get_run_for(request.user, pk), whole=True)
    response = csv_file(f"{report.run}-audit")
    write_cases(report, response)
    return response


@require_POST
def candidate_audit(request: SignedInRequest, pk: int, slug: str, number: int) -> HttpResponse:
    """Put a stored candidate before the detectors as they are now. It takes the role runner."""
    require(request.user, Right.LAUNCH)
    attempt = get_attempt_for(request.user, pk, slug, number)
    if attempt.state in FINAL:
        try:
            audit_now(attempt, request.user)
        except NotAudited as error:
            messages.error(request, f"{str(error)[0].upper()}{str(error)[1:]}.")
    else:
        messages.info(request, "It has not ended yet: the detectors look at it by themselves once it is measured.")
    return redirect(f"{reverse('candidate', args=[pk, slug, number])}#flags")
