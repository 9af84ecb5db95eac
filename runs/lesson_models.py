"""What memory stores: lessons, what people changed about them, and which trajectories were given them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from kernels.models import Problem, choices
from kernels.targets import Target


class LessonSource(models.TextChoices):
    """Who wrote a lesson first."""

    HISTORY = "history", "measured"
    SUMMARY = "summary", "a model's summary"


class LessonAction(models.TextChoices):
    """What a person did to a lesson."""

    EDITED = "edited", "edited"
    RETIRED = "retired", "retired"
    RESTORED = "restored", "restored"


class Lesson(models.Model):
    """What a trajectory taught. ``text`` may be edited, ``original`` never is; retired ones are given to nobody.

    ``kind`` is the operation that dominates its problem, ``bottleneck`` what bounds it. ``gain`` is the speedup of
    ``change`` over its parent as measured, None where the lesson is a model's words alone. ``about`` are the numbers of
    all attempts that it rests on: once one of them is flagged, nobody is given the lesson.
    """

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="lessons")
    trajectory = models.ForeignKey("runs.Trajectory", on_delete=models.SET_NULL, null=True, related_name="lessons")
    attempt = models.ForeignKey("runs.Attempt", on_delete=models.SET_NULL, null=True, related_name="lessons")
    about = models.JSONField(default=list)
    source = models.CharField(max_length=10, choices=LessonSource.choices)
    kind = models.CharField(max_length=40, blank=True)
    target = models.CharField(max_length=10, choices=choices(Target))
    bottleneck = models.CharField(max_length=10, blank=True)
    change = models.TextField(blank=True)
    gain = models.FloatField(null=True)
    text = models.TextField()
    original = models.TextField()
    created = models.DateTimeField(auto_now_add=True)
    retired = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["target", "kind"], name="lesson_by_kind")]

    def __str__(self) -> str:
        return f"lesson {self.pk}"


class LessonEdit(models.Model):
    """One thing a person did to a lesson; ``before`` and ``after`` are its text, equal unless it was edited."""

    lesson = models.ForeignKey(Lesson, on_delete=models.CASCADE, related_name="edits")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    action = models.CharField(max_length=10, choices=LessonAction.choices)
    before = models.TextField()
    after = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.lesson} {self.action}"


class LessonUse(models.Model):
    """A trajectory was given a lesson, at its start or while it was under way."""

    lesson = models.ForeignKey(Lesson, on_delete=models.CASCADE, related_name="uses")
    trajectory = models.ForeignKey("runs.Trajectory", on_delete=models.CASCADE, related_name="lessons_given")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lesson", "trajectory"], name="one_use_a_trajectory")
        ]

    def __str__(self) -> str:
        return f"{self.lesson} on {self.trajectory}"
