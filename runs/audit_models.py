"""Audits that people asked for files without a run, and that an audit looked at an attempt."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from kernels.models import Problem, choices
from kernels.targets import Policy
from sol.audit.report import AuditOutcome


class Audit(models.Model):
    """A report on files that somebody gave. ``digest`` is of their texts and of what they were audited beside.

    ``beside`` is the problem's name, ``problem`` its row where it is one of the catalogue; both empty without one.
    ``outcome`` is the gravest of its files, ``counts`` how many ended how. ``record`` is an audit Kept's JSON.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="audits")
    digest = models.CharField(max_length=64, db_index=True)
    problem = models.ForeignKey(Problem, on_delete=models.SET_NULL, null=True, related_name="+")
    beside = models.CharField(max_length=250, blank=True)
    policy = models.CharField(max_length=10, choices=choices(Policy))
    outcome = models.CharField(max_length=10, choices=choices(AuditOutcome))
    counts = models.JSONField(default=dict)
    version = models.CharField(max_length=8)
    record = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["owner", "-id"], name="audits_of_owner")]

    def __str__(self) -> str:
        return f"a-{self.pk:04}"


class Look(models.Model):
    """The detectors looked at an attempt, whether or not they found anything; the last time that they did.

    ``version`` tells which detectors, ``detectors`` how many; ``measured`` whether its evaluation was there to be
    looked at too. ``user`` asked for it; null where the product did by itself.
    """

    attempt = models.OneToOneField("runs.Attempt", on_delete=models.CASCADE, related_name="look")
    version = models.CharField(max_length=8)
    detectors = models.PositiveSmallIntegerField()
    measured = models.BooleanField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    made = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"audit of {self.attempt}"
