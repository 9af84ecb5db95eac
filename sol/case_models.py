"""Cases: what detectors raised about a kernel on a problem, what people made of it, and how that came about.

A case is one kernel on one problem, however many attempts of however many runs tried it: a kernel is its text, so a
verdict holds for every byte-identical one. Flags and entries are only ever added.
"""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from kernels.models import Evaluation, Kernel, Problem, choices
from kernels.records import from_json
from sol.audit.record import Evidence, Severity
from sol.audit.record import Flag as AuditFlag
from sol.audit.tricks import Trick
from sol.audit.verdict import Verdict
from sol.gap.standing import Held


class EntryKind(models.TextChoices):
    """What happened to a case."""

    RAISED = "raised"
    VERDICT = "verdict"
    UNDONE = "undone"
    CARRIED = "carried"
    REOPENED = "reopened"
    COMMENT = "comment"
    ASSIGNED = "assigned"


GIVEN = (EntryKind.VERDICT, EntryKind.CARRIED)
"""What gave a case a verdict."""

DECISIONS = (*GIVEN, EntryKind.UNDONE, EntryKind.REOPENED)
"""What changed a case's verdict, one way or the other."""


class Case(models.Model):
    """One kernel on one problem with flags. ``verdict`` is blank while it is open.

    ``severity``, ``trick`` and ``confidence`` are of its gravest flag, ``rank`` is the severity's for sorting,
    ``flags`` how many there are. ``inflation`` is how many times too fast a figure would be if it counted (1: none;
    null: no time), ``harm`` that times the confidence, 0 where there is none. ``sketch`` is for likeness.
    """

    kernel = models.ForeignKey(Kernel, on_delete=models.CASCADE, related_name="cases")
    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="cases")
    verdict = models.CharField(max_length=16, choices=choices(Verdict), blank=True)
    severity = models.CharField(max_length=10, choices=choices(Severity))
    rank = models.PositiveSmallIntegerField()
    trick = models.CharField(max_length=32, choices=choices(Trick))
    confidence = models.FloatField()
    flags = models.PositiveSmallIntegerField(default=0)
    inflation = models.FloatField(null=True)
    harm = models.FloatField(default=0.0)
    sketch = models.JSONField(default=list)
    assigned = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="cases"
    )
    settled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    opened = models.DateTimeField(auto_now_add=True)
    settled = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["kernel", "problem"], name="one_case_a_kernel")]
        indexes: ClassVar = [
            models.Index(fields=["verdict", "-rank", "-harm"], name="case_inbox"),
            models.Index(fields=["trick", "verdict"], name="case_trick"),
        ]

    def __str__(self) -> str:
        return f"case {self.pk}: {self.kernel}"

    @property
    def open(self) -> bool:
        """Whether it waits for a person: nobody settled it, and there is more than a note."""
        return not self.verdict and self.rank > 0

    @property
    def held(self) -> Held | None:
        """Why its kernel's times do not count; None where it says nothing against them.

        One that a person still finds suspect stays out as long as its flag is severe.
        """
        if self.verdict and Verdict(self.verdict).excludes:
            return Held.BUG if self.verdict == Verdict.BUG else Held.HACKED
        unsettled = self.verdict in ("", Verdict.SUSPECT)
        return Held.FLAGGED if unsettled and self.severity == Severity.SEVERE else None

    @property
    def lifts(self) -> bool:
        """Whether a person found it honest, so that a time below the floor counts."""
        return self.verdict in (Verdict.CLEAN, Verdict.PROBLEM_FLAW)


class Flag(models.Model):
    """One finding of one detector. ``evidence`` is an audit Evidence's JSON; ``line`` its first line, 0 for none."""

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="raised")
    evaluation = models.ForeignKey(Evaluation, on_delete=models.SET_NULL, null=True, related_name="flags")
    detector = models.CharField(max_length=40, db_index=True)
    trick = models.CharField(max_length=32, choices=choices(Trick))
    severity = models.CharField(max_length=10, choices=choices(Severity))
    confidence = models.FloatField()
    line = models.PositiveIntegerField(default=0)
    evidence = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["case", "detector", "trick", "line"], name="one_flag_a_place")
        ]

    def __str__(self) -> str:
        return f"{self.detector}: {self.trick}"

    @property
    def record(self) -> AuditFlag:
        """The flag as the detector raised it."""
        evidence = from_json(self.evidence, Evidence)
        return AuditFlag(self.detector, Trick(self.trick), Severity(self.severity), self.confidence, evidence)


class Entry(models.Model):
    """One line of a case's history. ``user`` is null where the product did it; ``batch`` joins what was done at once.

    ``before`` is the verdict that it took the place of, blank for an open case.
    """

    case = models.ForeignKey(Case, on_delete=models.CASCADE, related_name="entries")
    kind = models.CharField(max_length=10, choices=EntryKind.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    verdict = models.CharField(max_length=16, choices=choices(Verdict), blank=True)
    before = models.CharField(max_length=16, choices=choices(Verdict), blank=True)
    words = models.TextField(blank=True)
    batch = models.CharField(max_length=32, blank=True, db_index=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.kind} on {self.case}"
