"""One loader a right: it loads and it authorises, so that no view can do the first without the second."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from runs.lesson_list import lessons
from runs.lesson_models import Lesson
from runs.models import Attempt, Run
from runs.roles import Right, may, require
from sol.models import Case


class SignedInRequest(HttpRequest):
    """A request as views see it behind LoginRequiredMiddleware."""

    user: User


def get_run_for(user: User, pk: int) -> Run:
    """A run to look at: every signed-in person may. 404 where there is none."""
    del user  # all members see all runs; the parameter keeps callers honest once they do not
    related = ("owner", "cancelled_by", "paused_by", "cloned_from", "grid", "origin__imported_by")
    return get_object_or_404(Run.objects.select_related(*related), pk=pk)


def may_change(user: User, run: Run) -> bool:
    """Whether a person may cancel a run or spend machine time on its candidates; nobody may with an imported one."""
    return run.imported is None and owns(user, run)


def owns(user: User, run: Run) -> bool:
    """Whether a run is a person's own and they may launch, or they are an admin."""
    return may(user, Right.ADMINISTER) or (run.owner_id == user.pk and may(user, Right.LAUNCH))


def may_delete(user: User, run: Run) -> bool:
    """Whether a person may delete a run once it has ended: its owner and admins."""
    return owns(user, run)


def get_run_to_delete(user: User, pk: int) -> Run:
    """A run to delete. 403 for who may not, in words."""
    require(user, Right.LAUNCH)
    run = get_run_for(user, pk)
    if not may_delete(user, run):
        raise PermissionDenied(f"{run} belongs to {run.owner.get_username()}. Its owner and admins may delete it.")
    return run


def get_run_to_change(user: User, pk: int) -> Run:
    """A run to act on: its owner's and admins' right. 403 for others, in words."""
    require(user, Right.LAUNCH)
    run = get_run_for(user, pk)
    if run.imported is not None:
        raise PermissionDenied(f"{run} was measured elsewhere and imported: nothing of it is changed or run here.")
    if not may_change(user, run):
        raise PermissionDenied(f"{run} belongs to {run.owner.get_username()}. Its owner and admins may change it.")
    return run


def get_attempt_for(user: User, run_pk: int, slug: str, number: int) -> Attempt:
    """One attempt of a run with all that its page shows. 404 where there is none."""
    del user
    return get_object_or_404(
        Attempt.objects.select_related(
            "trajectory__run__owner", "trajectory__run__origin", "trajectory__problem", "kernel", "parent__kernel",
            "build", "cross_build", "evaluation",
        ),
        trajectory__run_id=run_pk,
        trajectory__problem__slug=slug,
        number=number,
    )  # fmt: skip


def get_attempts_for(user: User, keys: Sequence[int]) -> dict[int, Attempt]:
    """Those of these attempts that are there, by their numbers, with all that stands beside each other's. One query."""
    del user
    rows = Attempt.objects.select_related(
        "trajectory__run__owner", "trajectory__run__origin", "trajectory__problem", "kernel", "build", "cross_build",
        "evaluation",
    )  # fmt: skip
    return rows.defer("trajectory__bounds", "trajectory__problem__source", "cross_build__emission").in_bulk(keys)


def get_runs_for(user: User, keys: Sequence[int]) -> dict[int, Run]:
    """Those of these runs that are there, by their numbers. One query."""
    del user
    return Run.objects.select_related("owner", "origin").in_bulk(keys)


def get_lesson_for(user: User, pk: int) -> Lesson:
    """A lesson to look at: every signed-in person may. 404 where there is none."""
    del user
    return get_object_or_404(lessons(), pk=pk)


def may_change_lesson(user: User, lesson: Lesson) -> bool:
    """Whether a person may edit or retire a lesson: the owner of the run that learned it, and admins."""
    return may(user, Right.ADMINISTER) or (lesson.trajectory is not None and owns(user, lesson.trajectory.run))


def get_lesson_to_change(user: User, pk: int) -> Lesson:
    """A lesson to edit, retire or restore. 403 for who may not, in words."""
    require(user, Right.LAUNCH)
    lesson = get_lesson_for(user, pk)
    if not may_change_lesson(user, lesson):
        whose = (
            f"{lesson.trajectory.run}, whose owner and admins"
            if lesson.trajectory
            else "a run that is gone; admins"
        )
        raise PermissionDenied(f"Lesson {lesson.pk} was learned by {whose} may change it.")
    return lesson


def get_case_for(user: User, pk: int) -> Case:
    """A case to look at and to comment: every signed-in person may. 404 where there is none."""
    del user
    rows = Case.objects.select_related("kernel", "problem", "assigned", "settled_by")
    return get_object_or_404(rows.defer("problem__source", "problem__summary"), pk=pk)


def get_case_to_settle(user: User, pk: int) -> Case:
    """A case to settle or to give to somebody: a reviewer's right. 403 for others, in words."""
    require(user, Right.REVIEW)
    return get_case_for(user, pk)
