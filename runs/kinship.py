"""Who a candidate is related to, for its audit: cheating ancestors, lessons of theirs, and settled kernels like it.

A fixed number of queries: the trajectory's attempts, their cases, the lessons that were given, and settled cases of the
same language, at most ``MOST_ALIKE`` of the latest.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Q

from kernels.languages import Language
from runs.models import Attempt, LessonUse
from sol.audit import Severity, Trick
from sol.audit.likeness import ALIKE, likeness, sketch
from sol.audit.relatives import Relative, Tie, marked_texts
from sol.audit.verdict import Verdict
from sol.models import Case

MOST_ALIKE = 400
"""Settled cases that a new text is held against."""

_GAMING = [verdict.value for verdict in Verdict if verdict.gaming]


def relatives_of(attempt: Attempt) -> tuple[Relative, ...]:
    """The relatives of an attempt that its audit should know of."""
    own = sketch(attempt.kernel.source, Language(attempt.kernel.language))
    return (*_ancestors(attempt, own), *_alike(attempt, own), *_lessons(attempt))


def _ancestors(attempt: Attempt, own: tuple[int, ...]) -> Iterator[Relative]:
    line = _line(attempt)
    cases = Case.objects.filter(kernel_id__in=line.values(), problem_id=attempt.trajectory.problem_id, rank__gt=0)
    numbers = {kernel: number for number, kernel in line.items()}
    for case in cases.exclude(kernel_id=attempt.kernel_id).select_related("kernel").prefetch_related("raised"):
        name = f"{case.kernel} (#{numbers[case.kernel_id]})"
        yield _relative(case, Tie.ANCESTOR, name, likeness(own, case.sketch))


def _line(attempt: Attempt) -> dict[int, int]:
    """The kernels of an attempt's ancestors, by their numbers."""
    rows = Attempt.objects.filter(trajectory_id=attempt.trajectory_id, number__lt=attempt.number)
    known = {key: (number, kernel, up) for key, number, kernel, up in rows.values_list(
        "pk", "number", "kernel_id", "parent_id"
    )}  # fmt: skip
    found: dict[int, int] = {}
    at = attempt.parent_id
    while at in known:
        number, kernel, at = known.pop(at)
        found[number] = kernel
    return found


def _alike(attempt: Attempt, own: tuple[int, ...]) -> Iterator[Relative]:
    """Settled cheats that this text resembles, or is on another problem; here it has its case already."""
    settled = Case.objects.filter(verdict__in=_GAMING, kernel__language=attempt.kernel.language)
    own_case = Q(kernel_id=attempt.kernel_id, problem_id=attempt.trajectory.problem_id)
    latest = settled.exclude(own_case).order_by("-settled").values_list("pk", "sketch")
    alike = {key: found for key, theirs in latest[:MOST_ALIKE] if (found := likeness(own, theirs)) >= ALIKE}
    for case in Case.objects.filter(pk__in=alike).select_related("kernel").prefetch_related("raised"):
        yield _relative(case, Tie.LOOKALIKE, str(case.kernel), alike[case.pk])


def _lessons(attempt: Attempt) -> Iterator[Relative]:
    """Lessons that were given to its trajectory and rest on an attempt with a case that speaks against it."""
    uses = LessonUse.objects.filter(trajectory_id=attempt.trajectory_id, lesson__attempt__isnull=False)
    given = uses.values_list("lesson_id", "lesson__attempt__kernel_id", "lesson__problem_id")
    by_kernel = {(kernel, problem): lesson for lesson, kernel, problem in given}
    cases = Case.objects.filter(kernel_id__in={kernel for kernel, _ in by_kernel}, rank__gt=0)
    for case in cases.select_related("kernel").prefetch_related("raised") if by_kernel else ():
        lesson = by_kernel.get((case.kernel_id, case.problem_id))
        if lesson is not None:
            yield _relative(case, Tie.LESSON, f"{case.kernel} (lesson {lesson})", 0.0)


def _relative(case: Case, tie: Tie, name: str, alike: float) -> Relative:
    return Relative(
        tie,
        name,
        Trick(case.trick),
        Severity(case.severity),
        case.confidence,
        Verdict(case.verdict) if case.verdict else None,
        alike,
        marked_texts(case.kernel.source, [row.record for row in case.raised.all()]),
    )
