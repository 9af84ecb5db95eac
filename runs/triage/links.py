"""The way from a run or an attempt to its cases, for pages that are not about triage."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q
from django.urls import reverse

from runs import figures
from runs.models import Attempt, Run
from runs.triage.signs import severity_word, verdict_word
from runs.words import Word
from sol.audit.record import Severity
from sol.models import Case


@dataclass(frozen=True, slots=True)
class FlagLink:
    """Where the cases are, and what is said of them. ``severity`` is the gravest's."""

    address: str
    word: Word
    severity: str


def run_link(run: Run) -> FlagLink | None:
    """The open cases of a run's kernels; None where none waits. One query."""
    tried = Attempt.objects.filter(
        trajectory__run=run, kernel=OuterRef("kernel"), trajectory__problem=OuterRef("problem")
    )
    waits = Case.objects.filter(Exists(tried), verdict="", rank__gt=0)
    found = waits.aggregate(n=Count("pk"), severe=Count("pk", filter=Q(severity=Severity.SEVERE)))
    if not found["n"]:
        return None
    severity = Severity.SEVERE if found["severe"] else Severity.SUSPECT
    text = figures.counted(found["n"], "open flag")
    if 0 < found["severe"] < found["n"]:
        text += f", {found['severe']} severe"
    elif found["severe"]:
        text = figures.counted(found["n"], "open severe flag")
    sign = severity_word(severity)
    return FlagLink(f"{reverse('triage')}?run={run.pk}", Word(text, sign.icon, sign.tone), severity)


def attempt_link(attempt: Attempt) -> FlagLink | None:
    """The case of an attempt's kernel on its problem; None where nothing but notes was raised. One query."""
    rows = Case.objects.filter(kernel=attempt.kernel_id, problem=attempt.trajectory.problem_id).exclude(
        verdict="", rank=0
    )
    found = rows.values_list("pk", "severity", "verdict").first()
    if found is None:
        return None
    pk, severity, verdict = found
    sign = verdict_word(verdict) if verdict else severity_word(severity)
    word = sign if verdict else Word(f"{sign.text} flag", sign.icon, sign.tone)
    return FlagLink(reverse("triage-case", args=[pk]), word, severity)
