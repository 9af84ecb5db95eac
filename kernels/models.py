"""What is stored of problems and kernels: sources, inspections, builds, evaluations. Rows hold records as JSON."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import ClassVar

from django.db import models

from kernels.harness.evaluation import Outcome
from kernels.profiling.record import ProfileOutcome
from kernels.targets import Policy, Target
from kernels.toolchain.report import BuildOutcome


def choices(kind: type[StrEnum]) -> list[tuple[str, str]]:
    """A string enumeration as Django's choices."""
    return [(member.value, member.value.replace("_", " ")) for member in kind]


class Problem(models.Model):
    """A reference implementation in KernelBench's file format. ``slug`` is its name on pages: ``own/2``, ``L1/1``."""

    slug = models.CharField(max_length=40, unique=True)
    collection = models.CharField(max_length=40, db_index=True)
    level = models.PositiveSmallIntegerField(null=True, blank=True)
    number = models.PositiveIntegerField(null=True, blank=True)
    name = models.CharField(max_length=200, db_index=True)
    file_name = models.CharField(max_length=200)
    summary = models.TextField(blank=True)
    source = models.TextField()
    digest = models.CharField(max_length=64)
    sizes = models.JSONField(default=list)
    imported = models.DateTimeField(auto_now=True)

    class Meta:
        ordering: ClassVar = ["collection", "level", "number", "name"]

    def __str__(self) -> str:
        return f"{self.slug} {self.name}"

    def size_for(self, target: Target) -> str:
        """The size it is measured at on ``target``: its CPU or GPU size where it has two, else its only one."""
        wanted = "gpu" if target.is_cuda else "cpu"
        return wanted if wanted in self.sizes else str(self.sizes[0])


class ProblemSize(models.Model):
    """What a child process found out about a problem at one of its sizes (``record``: an Inspection's JSON).

    ``kind`` is the operation that dominates its work, for filters; ``error`` the name of the error where inspecting
    failed, ``detail`` its words. ``audit`` is the JSON of what is wrong with the problem itself (null: not looked for
    yet), ``gravest`` the highest severity in it and ``flaws`` how many there are.
    """

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="inspections")
    size = models.CharField(max_length=40)
    digest = models.CharField(max_length=64)
    record = models.JSONField(null=True)
    kind = models.CharField(max_length=40, blank=True, db_index=True)
    flops = models.BigIntegerField(null=True)
    bytes = models.BigIntegerField(null=True)
    error = models.CharField(max_length=80, blank=True)
    detail = models.TextField(blank=True)
    audit = models.JSONField(null=True)
    gravest = models.CharField(max_length=10, blank=True)
    flaws = models.PositiveSmallIntegerField(null=True)
    inspected = models.DateTimeField(auto_now=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["problem", "size"], name="one_inspection_a_size")]

    def __str__(self) -> str:
        return f"{self.problem.slug} at {self.size}"


class KernelQuerySet(models.QuerySet["Kernel"]):
    """Kernels, found by what they say."""

    def of_source(self, language: str, source: str) -> Kernel:
        """The kernel with this text, made where there is none yet."""
        kernel, _ = self.get_or_create(
            digest=Kernel.digest_of(language, source), defaults={"language": language, "source": source}
        )
        return kernel


class Kernel(models.Model):
    """A program's text, once, whoever wrote it and however often it was tried. ``language``: ``kernels.languages``."""

    digest = models.CharField(max_length=64, unique=True)
    language = models.CharField(max_length=10, default="mu")
    source = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    objects = KernelQuerySet.as_manager()

    def __str__(self) -> str:
        return f"k-{self.short}"

    @property
    def short(self) -> str:
        """The first six digits of its digest, by which people name it."""
        return self.digest[:6]

    @staticmethod
    def digest_of(language: str, source: str) -> str:
        """SHA-256 of language and text."""
        return hashlib.sha256(f"{language}\0{source}".encode()).hexdigest()


class Build(models.Model):
    """A kernel compiled for a problem's sizes and a target: the emission (C++ and plan) and the report."""

    kernel = models.ForeignKey(Kernel, on_delete=models.CASCADE, related_name="builds")
    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="builds")
    size = models.CharField(max_length=40)
    target = models.CharField(max_length=10, choices=choices(Target))
    policy = models.CharField(max_length=10, choices=choices(Policy))
    outcome = models.CharField(max_length=20, choices=choices(BuildOutcome))
    seconds = models.FloatField()
    emission = models.JSONField()
    report = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["kernel", "problem", "size", "target", "policy"])]

    def __str__(self) -> str:
        return f"{self.kernel} for {self.target}: {self.outcome}"


class Evaluation(models.Model):
    """One measurement of a kernel on a problem. ``record`` is the Evaluation's JSON; times are seconds."""

    kernel = models.ForeignKey(Kernel, on_delete=models.CASCADE, related_name="evaluations")
    build = models.ForeignKey(Build, on_delete=models.SET_NULL, null=True, related_name="evaluations")
    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="evaluations")
    size = models.CharField(max_length=40)
    target = models.CharField(max_length=10, choices=choices(Target))
    machine = models.CharField(max_length=200, blank=True)
    outcome = models.CharField(max_length=20, choices=choices(Outcome), db_index=True)
    median_s = models.FloatField(null=True)
    eager_s = models.FloatField(null=True)
    record = models.JSONField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["problem", "size", "machine", "created"]),
            # The latest time of torch eager on a machine, without a look at the evaluations.
            models.Index(
                fields=["machine", "problem", "size", "id"],
                condition=models.Q(eager_s__isnull=False),
                name="eager_of",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kernel} on {self.problem.slug}: {self.outcome}"


class Profile(models.Model):
    """One profile of a kernel on a problem. ``record`` is the Profile's JSON; its times are no measurement.

    ``report`` is the name of the ``.ncu-rep`` in the folder of reports, empty where none is kept (any more).
    ``elsewhere`` is the digest of the archive that brought it, empty where a worker of this installation took it.
    """

    kernel = models.ForeignKey(Kernel, on_delete=models.CASCADE, related_name="profiles")
    build = models.ForeignKey(Build, on_delete=models.SET_NULL, null=True, related_name="profiles")
    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="profiles")
    size = models.CharField(max_length=40)
    target = models.CharField(max_length=10, choices=choices(Target))
    policy = models.CharField(max_length=10, choices=choices(Policy))
    metric_set = models.CharField(max_length=10)
    machine = models.CharField(max_length=200, blank=True)
    outcome = models.CharField(max_length=12, choices=choices(ProfileOutcome))
    reason = models.CharField(max_length=30, blank=True)
    record = models.JSONField()
    report = models.CharField(max_length=80, blank=True)
    elsewhere = models.CharField(max_length=64, blank=True, default="")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["kernel", "problem", "size", "target", "policy"])]

    def __str__(self) -> str:
        return f"profile of {self.kernel} on {self.problem.slug}: {self.outcome}"
