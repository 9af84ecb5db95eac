"""Raising flags on kernels, settling cases, and taking it back: the one place that changes a case.

Each function is one transaction. Who may call it is for the pages to know. Nothing of a candidate is read here but
its text for a sketch; a verdict is one of the six words that a person chose, or what they chose for the same text.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from kernels.errors import UserError
from kernels.languages import Language
from kernels.models import Evaluation, Kernel, Problem
from kernels.records import to_json
from sol.audit import likeness
from sol.audit.record import Flag, Severity
from sol.audit.verdict import Verdict
from sol.case_models import DECISIONS, GIVEN, Case, Entry, EntryKind
from sol.case_models import Flag as FlagRow
from sol.signals import cases_changed

CARRIED = (Verdict.REWARD_HACK, Verdict.RUBRIC_LEAK)
"""Verdicts that are about the text alone, so that they hold for it on every problem."""


class UnknownVerdict(UserError):
    """A verdict that there is not."""

    template = "{verdict!r} is no verdict; it is one of {right}"


class NothingToUndo(UserError):
    """An undo of what was undone before, or overtaken by a later verdict."""

    template = "nothing of this can be undone: every case of it was settled anew since; settle the case itself"


def case_of(kernel_id: int, problem_id: int) -> Case | None:
    """The case of a kernel on a problem."""
    return Case.objects.filter(kernel_id=kernel_id, problem_id=problem_id).first()


@transaction.atomic
def raise_flags(
    kernel: Kernel, problem: Problem, flags: Sequence[Flag], evaluation: Evaluation | None = None
) -> Case | None:
    """Keep flags with their case; None where there is neither. A finding at the same place is kept once.

    A case that was settled in the kernel's favour opens again where a graver flag than all before, or a severe one
    of another detector, comes in: who settled it had not seen that.
    """
    if not flags:
        return Case.objects.select_for_update().filter(kernel=kernel, problem=problem).first()
    gravest = max(flags, key=lambda flag: flag.gravity)
    case = _held_case(kernel, problem, gravest)
    fresh = not case.raised.exists()
    before = (case.rank, case.verdict)
    severe_before = _severe_detectors(case)
    added, graver = _add(case, flags, evaluation)
    if not added and not graver:
        return case
    if gravest.gravity > (case.rank, case.confidence):
        _judge_by(case, gravest)
    case.flags += len(added)
    Entry.objects.create(case=case, kind=EntryKind.RAISED, words=_raised([*added, *graver]))
    if fresh:
        _carry_over(case)
    else:
        _reopen(case, before[0], severe_before, [*added, *graver])
    case.save()
    if (case.rank, case.verdict) != before or fresh:
        cases_changed.send(Case, cases=[case])
    return case


def _held_case(kernel: Kernel, problem: Problem, gravest: Flag) -> Case:
    """The case, made where there is none, with its row held: of two workers that open one, the second waits here."""
    rows = Case.objects.select_for_update().filter(kernel=kernel, problem=problem)
    case = rows.first()
    if case is None:
        made = Case(kernel=kernel, problem=problem, sketch=_sketch(kernel))
        _judge_by(made, gravest)
        Case.objects.bulk_create([made], ignore_conflicts=True)
        case = rows.get()
    return case


def _sketch(kernel: Kernel) -> list[int]:
    return list(likeness.sketch(kernel.source, Language(kernel.language)))


def _judge_by(case: Case, flag: Flag) -> None:
    case.severity, case.rank = flag.severity.value, flag.severity.rank
    case.trick, case.confidence = flag.trick.value, flag.confidence
    case.harm = (case.inflation or 0.0) * case.confidence


def _severe_detectors(case: Case) -> set[str]:
    return set(case.raised.filter(severity=Severity.SEVERE).values_list("detector", flat=True))


def _add(case: Case, flags: Sequence[Flag], evaluation: Evaluation | None) -> tuple[list[Flag], list[Flag]]:
    """The flags that are new here, and those that are graver than what was known at their place, whose place they
    take."""
    known = {(row.detector, row.trick, row.line): row for row in case.raised.all()}
    added: list[Flag] = []
    graver: list[Flag] = []
    for flag in flags:
        places = flag.evidence.places
        key = (flag.detector, flag.trick.value, places[0].first if places else 0)
        row = known.get(key)
        if row is None:
            row = FlagRow(case=case, detector=key[0], trick=key[1], line=key[2])
            added.append(flag)
        elif flag.gravity <= (Severity(row.severity).rank, row.confidence):
            continue
        elif flag.severity.rank > Severity(row.severity).rank:
            graver.append(flag)
        row.severity, row.confidence, row.evaluation = flag.severity.value, flag.confidence, evaluation
        row.evidence = to_json(flag.evidence)
        row.save()
        known[key] = row
    return added, graver


def _raised(flags: Iterable[Flag]) -> str:
    return ", ".join(dict.fromkeys(f"{flag.detector} ({flag.severity.value})" for flag in flags))


def _carry_over(case: Case) -> None:
    """A text that was settled as a hack elsewhere is one here too."""
    told = Case.objects.filter(kernel_id=case.kernel_id, verdict__in=CARRIED).exclude(pk=case.pk)
    for other in told.select_related("problem").order_by("-settled")[:1]:
        words = f"the same text was settled on {other.problem.slug}"
        decided = other.entries.filter(kind__in=GIVEN, verdict=other.verdict).order_by("-pk").first()
        # Whoever takes that verdict back takes this one back too.
        batch = decided.batch if decided is not None else ""
        _write(case, EntryKind.CARRIED, other.verdict, other.settled_by, words, batch)


def _reopen(case: Case, rank: int, detectors: set[str], added: Sequence[Flag]) -> None:
    if not case.verdict or Verdict(case.verdict).excludes:
        return
    severe = [flag for flag in added if flag.severity is Severity.SEVERE and flag.detector not in detectors]
    if severe or case.rank > rank:
        _write(case, EntryKind.REOPENED, "", None, _raised(severe or added), "")


def _write(case: Case, kind: str, verdict: str, user: User | None, words: str, batch: str) -> None:
    """Give a case a verdict (blank: open it) with its entry; the caller saves and tells."""
    Entry.objects.create(
        case=case, kind=kind, user=user, verdict=verdict, before=case.verdict, words=words, batch=batch
    )
    case.verdict = verdict
    case.settled, case.settled_by = (timezone.now(), user) if verdict else (None, None)


@transaction.atomic
def settle(cases: Iterable[Case], verdict: str, user: User, why: str = "") -> str:
    """Give cases a verdict; the batch by which it can be undone. Raises UnknownVerdict.

    A hack is carried to the same text's open cases on other problems. Settling again is how a verdict is changed.
    """
    if verdict not in list(Verdict):
        raise UnknownVerdict(verdict=verdict, right=", ".join(Verdict))
    batch = uuid.uuid4().hex
    wanted = [case.pk for case in cases]
    rows = list(Case.objects.select_for_update().filter(pk__in=wanted).order_by("pk"))
    for case in rows:
        _write(case, EntryKind.VERDICT, verdict, user, why, batch)
    if verdict in CARRIED:
        kernels = {case.kernel_id for case in rows}
        open_ones = (
            Case.objects.select_for_update().filter(kernel_id__in=kernels, verdict="").exclude(pk__in=wanted)
        )
        for case in open_ones.order_by("pk"):
            _write(case, EntryKind.CARRIED, verdict, user, "the same text was settled on another problem", batch)
            rows.append(case)
    _save(rows)
    return batch


def _save(rows: list[Case]) -> None:
    Case.objects.bulk_update(rows, ["verdict", "settled", "settled_by"], batch_size=500)
    if rows:
        cases_changed.send(Case, cases=rows)


@transaction.atomic
def undo(batch: str, user: User) -> list[Case]:
    """Take a batch back where nothing later was decided; the cases that changed. Raises NothingToUndo."""
    found = Entry.objects.filter(batch=batch, kind__in=GIVEN) if batch else ()
    entries = {entry.case_id: entry for entry in found}
    rows = []
    for case in Case.objects.select_for_update().filter(pk__in=entries).order_by("pk"):
        entry = entries[case.pk]
        decided = case.entries.filter(kind__in=DECISIONS)
        last = decided.order_by("-pk").first()
        if last is None or last.pk != entry.pk:
            continue
        _write(case, EntryKind.UNDONE, entry.before, user, f"{Verdict(entry.verdict).words} undone", "")
        _as_before(case, entry)
        rows.append(case)
    if not rows:
        raise NothingToUndo()
    _save(rows)
    return rows


def _as_before(case: Case, undone: Entry) -> None:
    """A verdict that stands again is of who gave it then."""
    earlier = case.entries.filter(kind__in=GIVEN, verdict=undone.before, pk__lt=undone.pk) if undone.before else ()
    for entry in list(earlier)[-1:]:
        case.settled, case.settled_by = entry.created, entry.user


@transaction.atomic
def comment(case: Case, user: User, words: str) -> Entry:
    """Say something about a case."""
    return Entry.objects.create(case=case, kind=EntryKind.COMMENT, user=user, words=words)


@transaction.atomic
def assign(cases: Iterable[Case], to: User | None, user: User, words: str = "") -> str:
    """Give cases to somebody, or to nobody; the batch."""
    batch = uuid.uuid4().hex
    rows = list(Case.objects.select_for_update().filter(pk__in=[case.pk for case in cases]).order_by("pk"))
    told = f"to {to.get_username()}" if to is not None else "to nobody"
    for case in rows:
        case.assigned = to
        said = f"{told}: {words}" if words else told
        Entry.objects.create(case=case, kind=EntryKind.ASSIGNED, user=user, words=said, batch=batch)
    Case.objects.bulk_update(rows, ["assigned"], batch_size=500)
    return batch
