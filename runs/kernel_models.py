"""What the kernel browser lists: a kernel on a problem and a card, once, however often it was tried.

Derived from attempts and cases, and kept beside them because a list of a hundred thousand attempts has to be sorted,
counted and paged by index. ``runs.contenders`` keeps it true and builds it anew.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from django.conf import settings
from django.db import models

from kernels.harness.evaluation import Outcome
from kernels.languages import Language
from kernels.models import Kernel, Problem, choices
from kernels.targets import Target
from sol.gap.standing import Held


class Standing(StrEnum):
    """What flags and people say about a contender, the best news first."""

    CLEAN = "clean"
    NO_FLAGS = "no_flags"
    OPEN_SUSPECT = "open_suspect"
    OPEN_SEVERE = "open_severe"
    BELOW_FLOOR = "below_floor"
    SUSPECT = "suspect"
    RUBRIC_LEAK = "rubric_leak"
    REWARD_HACK = "reward_hack"
    BUG = "bug"
    PROBLEM_FLAW = "problem_flaw"

    @property
    def words(self) -> str:
        """As it stands on pages."""
        return _WORDS.get(self, self.value.replace("_", " "))

    @property
    def icon(self) -> str:
        """Its symbol of the sprite; empty where it has none."""
        return _ICONS.get(self, "")


_WORDS = {
    Standing.OPEN_SUSPECT: "open, suspect",
    Standing.OPEN_SEVERE: "open, severe",
    Standing.BELOW_FLOOR: "below the floor",
}
_ICONS = {
    Standing.CLEAN: "pass",
    Standing.OPEN_SUSPECT: "susp",
    Standing.OPEN_SEVERE: "severe",
    Standing.BELOW_FLOOR: "severe",
    Standing.SUSPECT: "susp",
    Standing.RUBRIC_LEAK: "severe",
    Standing.REWARD_HACK: "hack",
    Standing.BUG: "fail",
    Standing.PROBLEM_FLAW: "flaw",
}


class Contender(models.Model):
    """A kernel on a problem, a target and a card (``device``; blank where nothing was prepared).

    ``best`` is the attempt that speaks for it: its fastest that counts, else its fastest at all, else its last; times
    in seconds, ``outcome``, ``held``, ``run``, ``owner`` and ``at`` (when it ended) are that attempt's. ``counted_s``,
    ``gap`` and ``speedup`` are null unless its time counts. ``tries`` counts attempts that ended, whatever became of
    them. ``kind`` is the problem's operation.
    """

    kernel = models.ForeignKey(Kernel, on_delete=models.CASCADE, related_name="contenders")
    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="contenders")
    target = models.CharField(max_length=10, choices=choices(Target))
    device = models.CharField(max_length=200, blank=True)
    language = models.CharField(max_length=10, choices=choices(Language))
    kind = models.CharField(max_length=40, blank=True)
    best = models.ForeignKey("runs.Attempt", on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="contenders")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    outcome = models.CharField(max_length=20, choices=choices(Outcome))
    held = models.CharField(max_length=10, choices=choices(Held), blank=True)
    standing = models.CharField(max_length=16, choices=choices(Standing))
    tries = models.PositiveIntegerField()
    time_s = models.FloatField(null=True)
    counted_s = models.FloatField(null=True)
    sol_s = models.FloatField(null=True)
    eager_s = models.FloatField(null=True)
    gap = models.FloatField(null=True)
    speedup = models.FloatField(null=True)
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["kernel", "problem", "target", "device"], name="one_contender_a_card")
        ]
        indexes: ClassVar = [
            # Every figure beside a filter comes out of this one, without a look at a row.
            models.Index(
                fields=["outcome", "standing", "device", "target", "language", "kind", "owner", "at"],
                name="contender_counts",
            ),
            # The same without a time: few different keys, which PostgreSQL keeps once each and in their order.
            models.Index(
                fields=["owner", "kind", "device", "standing", "outcome", "language", "target"],
                name="contender_facets",
            ),
            models.Index(fields=["gap", "id"], name="contender_gap"),
            models.Index(fields=["speedup", "id"], name="contender_speedup"),
            models.Index(fields=["counted_s", "id"], name="contender_counted"),
            models.Index(fields=["at", "id"], name="contender_at"),
            models.Index(fields=["problem", "id"], name="contender_problem"),
            models.Index(fields=["device", "problem", "counted_s", "id"], name="contender_honest"),
            models.Index(fields=["device", "problem", "time_s", "id"], name="contender_claimed"),
            models.Index(fields=["device", "held"], name="contender_held"),
        ]

    def __str__(self) -> str:
        return f"{self.kernel} on {self.problem.slug}, {self.device or 'no card'}"

    @property
    def said(self) -> Standing:
        """What flags and people say."""
        return Standing(self.standing)
