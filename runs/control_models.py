"""What people did to runs after their launch, runs that were launched together, and saved launch forms."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models


class Action(models.TextChoices):
    """What somebody did to a run."""

    PAUSED = "paused"
    RESUMED = "resumed"
    RETRIED = "retried"
    RAISED = "raised"
    STOPPED = "stopped"
    CANCELLED = "cancelled"


class RunChange(models.Model):
    """Who did what to a run and when. ``record`` holds what an action needs to be told: limits before and after, how
    many problems and attempts go on. Never changed."""

    run = models.ForeignKey("Run", on_delete=models.CASCADE, related_name="changes")
    trajectory = models.ForeignKey("Trajectory", on_delete=models.CASCADE, null=True, related_name="changes")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    action = models.CharField(max_length=10, choices=Action.choices)
    record = models.JSONField(default=dict)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.run} {self.action}"


class Grid(models.Model):
    """Runs that were launched together, one for each combination of what was varied. ``launch_key`` as of a run."""

    title = models.CharField(max_length=200)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="grids")
    launch_key = models.CharField(max_length=64, blank=True, default="")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["owner", "launch_key"], condition=~models.Q(launch_key=""), name="one_grid_a_form"
            )
        ]

    def __str__(self) -> str:
        return f"g-{self.pk}"


class Preset(models.Model):
    """A launch form under a name: ``form`` has each field's values as typed. ``shared``: everybody sees it."""

    name = models.CharField(max_length=80)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="presets")
    shared = models.BooleanField(default=False)
    form = models.JSONField(default=dict)
    changed = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["name", "id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["owner", "name"], name="one_preset_a_name")]

    def __str__(self) -> str:
        return self.name
