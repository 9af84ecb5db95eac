"""One loader a right: it loads and it authorises, so that no view can do the first without the second."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from runs.lesson_list import lessons
from runs.lesson_models import Lesson
from runs.models import Attempt, Run


class SignedInRequest(HttpRequest):
    """A request as views see it behind LoginRequiredMiddleware."""

    user: User


def get_run_for(user: User, pk: int) -> Run:
    """A run to look at: every signed-in person may. 404 where there is none."""
    del user  # all members see all runs; the parameter keeps callers honest once they do not
    return get_object_or_404(Run.objects.select_related("owner", "cancelled_by"), pk=pk)


def may_change(user: User, run: Run) -> bool:
    """Whether a person may cancel a run or spend machine time on its candidates."""
    return user.is_staff or run.owner_id == user.pk


def get_run_to_change(user: User, pk: int) -> Run:
    """A run to act on: its owner's and staff's right. 403 for others, in words."""
    run = get_run_for(user, pk)
    if not may_change(user, run):
        raise PermissionDenied(f"{run} belongs to {run.owner.get_username()}. Its owner and staff may change it.")
    return run


def get_attempt_for(user: User, run_pk: int, slug: str, number: int) -> Attempt:
    """One attempt of a run with all that its page shows. 404 where there is none."""
    del user
    return get_object_or_404(
        Attempt.objects.select_related(
            "trajectory__run__owner", "trajectory__problem", "kernel", "parent__kernel", "build", "cross_build",
            "evaluation",
        ),
        trajectory__run_id=run_pk,
        trajectory__problem__slug=slug,
        number=number,
    )  # fmt: skip


def get_lesson_for(user: User, pk: int) -> Lesson:
    """A lesson to look at: every signed-in person may. 404 where there is none."""
    del user
    return get_object_or_404(lessons(), pk=pk)


def may_change_lesson(user: User, lesson: Lesson) -> bool:
    """Whether a person may edit or retire a lesson: the owner of the run that learned it, and staff."""
    return user.is_staff or (lesson.trajectory is not None and may_change(user, lesson.trajectory.run))


def get_lesson_to_change(user: User, pk: int) -> Lesson:
    """A lesson to edit, retire or restore. 403 for who may not, in words."""
    lesson = get_lesson_for(user, pk)
    if not may_change_lesson(user, lesson):
        whose = (
            f"{lesson.trajectory.run}, whose owner and staff" if lesson.trajectory else "a run that is gone; staff"
        )
        raise PermissionDenied(f"Lesson {lesson.pk} was learned by {whose} may change it.")
    return lesson
