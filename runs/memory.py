"""Memory: lessons are kept when a trajectory ends, and given to later ones by kind of problem, target and bottleneck.

Which sentences a history gives and which of all lessons fit a problem is decided in ``agent.lessons``; here are the
rows, and what people change about them. What keeps and gives lessons runs inside its caller's transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agent.history import State
from agent.lessons import MOST_TEXT, Known, drafts, select
from agent.steps import History, LessonNote, Started, TrajectorySettings
from kernels.models import ProblemSize
from runs.errors import LessonTextUnfit
from runs.lesson_models import Lesson, LessonAction, LessonEdit, LessonUse
from runs.models import Attempt, Event, Trajectory

_LOOKED_AT = 1000
"""So many lessons that fit are compared, the newest; older ones are given to nobody any more."""


def learn(trajectory: Trajectory, settings: TrajectorySettings, history: History) -> None:
    """Keep what an ended trajectory teaches, each lesson once: it may have ended before, within a smaller budget.

    One that never began teaches nothing.
    """
    if not history or not isinstance(history[0], Started):
        return
    started = history[0]
    known = {
        (source, tuple(about), text)
        for source, about, text in trajectory.lessons.values_list("source", "about", "original")
    }
    attempts = dict(Attempt.objects.filter(trajectory=trajectory).values_list("number", "pk"))
    Lesson.objects.bulk_create(
        Lesson(
            problem_id=trajectory.problem_id,
            trajectory=trajectory,
            attempt_id=attempts.get(draft.attempt or 0),
            about=list(draft.about),
            source=draft.source,
            kind=started.operation or _operation(trajectory),
            target=started.target,
            bottleneck=draft.bottleneck or started.bound_class,
            change=draft.change,
            gain=draft.gain,
            text=draft.text,
            original=draft.text,
        )
        for draft in drafts(settings, history)
        if (draft.source, draft.about, draft.text) not in known
    )


def notes_for(operation: str, target: str, bottleneck: str) -> tuple[LessonNote, ...]:
    """The lessons for a problem, best first, none that rests on a flagged attempt. Two queries, more only for flags."""
    fitting = Lesson.objects.filter(retired=None, target=target).select_related("problem")
    fitting = (fitting.filter(kind=operation) | fitting.filter(bottleneck=bottleneck)).order_by("-pk")
    rows = list(fitting.defer("problem__source", "problem__summary")[:_LOOKED_AT])
    flagged = flagged_attempts({row.trajectory_id for row in rows if row.trajectory_id is not None})
    known = (_known(row) for row in rows if not _tainted(row, flagged))
    return tuple(_note(each) for each in select(known, operation, target, bottleneck))


def newly_fitting(
    trajectory: Trajectory, settings: TrajectorySettings, history: History
) -> tuple[LessonNote, ...] | None:
    """The lessons a trajectory should have by now, where they are others than it has; None where they are the same."""
    if not settings.memory:
        return None
    started = State.of(settings, history).started
    notes = notes_for(started.operation or _operation(trajectory), started.target, started.bound_class)
    return None if notes == started.lessons else notes


def mark_given(trajectory: Trajectory, notes: Iterable[LessonNote]) -> None:
    """Note that a trajectory was given these lessons; a second time changes nothing."""
    uses = (LessonUse(lesson_id=note.id, trajectory=trajectory) for note in notes)
    LessonUse.objects.bulk_create(uses, ignore_conflicts=True)


def edit(lesson: Lesson, user: User, text: str) -> None:
    """Put a person's words in the place of a lesson's; the same words change nothing. Raises LessonTextUnfit."""
    words = " ".join(text.split())
    if not 0 < len(words) <= MOST_TEXT:
        raise LessonTextUnfit(length=len(words), most=MOST_TEXT)
    with transaction.atomic():
        before = _held(lesson).text
        if words != before:
            Lesson.objects.filter(pk=lesson.pk).update(text=words)
            _note_edit(lesson, user, LessonAction.EDITED, before, words)


def retire(lesson: Lesson, user: User) -> None:
    """Give a lesson to nobody from now on; a retired one stays so."""
    _move(lesson, user, LessonAction.RETIRED, timezone.now())


def restore(lesson: Lesson, user: User) -> None:
    """Give a retired lesson to trajectories again."""
    _move(lesson, user, LessonAction.RESTORED, None)


def _move(lesson: Lesson, user: User, action: LessonAction, retired: datetime | None) -> None:
    with transaction.atomic():
        others = Lesson.objects.filter(pk=lesson.pk, retired__isnull=retired is not None)
        if others.update(retired=retired):
            text = _held(lesson).text
            _note_edit(lesson, user, action, text, text)


def _held(lesson: Lesson) -> Lesson:
    """The row as it is now, held until the transaction ends where the database can."""
    return Lesson.objects.select_for_update().get(pk=lesson.pk)


def _note_edit(lesson: Lesson, user: User, action: LessonAction, before: str, after: str) -> None:
    LessonEdit.objects.create(lesson=lesson, user=user, action=action, before=before, after=after)


def is_tainted(lesson: Lesson) -> bool:
    """Whether an attempt that a lesson rests on is flagged by now."""
    if lesson.trajectory_id is None:
        return False
    return _tainted(lesson, flagged_attempts({lesson.trajectory_id}))


def flagged_attempts(trajectories: set[int]) -> set[tuple[int, int]]:
    """Trajectory and number of attempts whose last result is flagged. One query, a second where there are any."""
    measured = Event.objects.filter(trajectory__in=trajectories, kind="measured")
    suspected = set(measured.filter(record__flagged=True).values_list("trajectory_id", flat=True))
    if not suspected:
        return set()
    last: dict[tuple[int, int], bool] = {}
    rows = measured.filter(trajectory__in=suspected).order_by("trajectory_id", "sequence")
    for key, number, flagged in rows.values_list("trajectory_id", "record__number", "record__flagged"):
        last[key, number] = bool(flagged)
    return {place for place, flagged in last.items() if flagged}


def _tainted(row: Lesson, flagged: set[tuple[int, int]]) -> bool:
    return any((row.trajectory_id, number) in flagged for number in row.about)


def _operation(trajectory: Trajectory) -> str:
    """The operation that dominates the trajectory's problem, as it was inspected."""
    found = ProblemSize.objects.filter(problem_id=trajectory.problem_id, size=trajectory.size)
    return found.values_list("kind", flat=True).first() or ""


def _known(row: Lesson) -> Known:
    return Known(
        row.pk, row.problem.slug, row.kind, row.target, row.bottleneck, row.text, row.change, row.gain
    )  # fmt: skip


def _note(known: Known) -> LessonNote:
    return LessonNote(
        known.id, known.problem, known.kind, known.bottleneck, known.text, known.change, known.gain
    )  # fmt: skip
