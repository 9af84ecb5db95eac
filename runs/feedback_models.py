"""What is stored of feedback beside the log: which tool was raised at which attempt, and who followed it.

Written when an attempt ends or its profile comes, so that a tool's hit rate is a sum over rows. The words of a finding
stay in the log.
"""

from __future__ import annotations

import math
from typing import ClassVar

from django.db import models

from agent.feedback.record import Severity
from kernels.models import choices
from kernels.targets import Target


class Raised(models.Model):
    """A tool had a finding about an attempt. ``expected`` is the speedup it promised, None where it promised none.

    ``elsewhere``: the attempt was imported; it is in no rate of this installation.
    """

    attempt = models.ForeignKey("runs.Attempt", on_delete=models.CASCADE, related_name="raised")
    tool = models.CharField(max_length=40, db_index=True)
    target = models.CharField(max_length=10, choices=choices(Target))
    severity = models.CharField(max_length=10, choices=choices(Severity))
    expected = models.FloatField(null=True)
    elsewhere = models.BooleanField(default=False)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["attempt", "tool"], name="one_finding_a_tool")]

    def __str__(self) -> str:
        return f"{self.tool} at {self.attempt}"


class Followed(models.Model):
    """``attempt`` did what ``raised`` advised about its parent.

    ``log_gain`` is ln(parent's time / its time), None where it has no time that counts; ``improved`` is whether it was
    faster by more than an improvement. ``named``: its author said which tool it follows; else the change tells.
    """

    raised = models.ForeignKey(Raised, on_delete=models.CASCADE, related_name="followed")
    attempt = models.ForeignKey("runs.Attempt", on_delete=models.CASCADE, related_name="follows")
    log_gain = models.FloatField(null=True)
    improved = models.BooleanField()
    named = models.BooleanField()

    @property
    def gain(self) -> float | None:
        """Parent's time over its own; None where it has no time that counts."""
        return None if self.log_gain is None else math.exp(self.log_gain)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["raised", "attempt"], name="one_following_a_finding")
        ]

    def __str__(self) -> str:
        return f"{self.attempt} follows {self.raised}"
