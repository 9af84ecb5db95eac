"""What is stored of bounds and of audits: devices, each problem's bounds on them, and cases with their flags."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models

from kernels.models import Problem, choices
from kernels.targets import Policy
from sol.case_models import Case as Case
from sol.case_models import Entry as Entry
from sol.case_models import Flag as Flag


class Devices(models.Manager["Device"]):
    """Devices of this installation and of archives."""

    def here(self) -> models.QuerySet[Device]:
        """Those of this installation; by no other is anything here bounded."""
        return self.filter(elsewhere="")

    def keep(self, name: str, kind: str, record: dict[str, Any]) -> Device:
        """Store what a worker of this installation knows of its device."""
        return self.update_or_create(name=name, elsewhere="", defaults={"kind": kind, "record": record})[0]


class Device(models.Model):
    """A machine whose peaks were measured, or a card's specification. ``record`` is a bounds Device's JSON.

    ``elsewhere`` is the digest of the archive that brought it, empty for a device of this installation: machines of one
    name at two places have peaks of their own.
    """

    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=10)
    record = models.JSONField()
    measured = models.DateTimeField(auto_now=True)
    elsewhere = models.CharField(max_length=64, blank=True, default="")

    objects = Devices()

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["name", "elsewhere"], name="one_device_a_place")]

    def __str__(self) -> str:
        return self.name


class Bound(models.Model):
    """The bounds of a problem's size on a device under a policy, in seconds. ``record`` is the Bounds' JSON."""

    problem = models.ForeignKey(Problem, on_delete=models.CASCADE, related_name="bounds")
    size = models.CharField(max_length=40)
    device = models.ForeignKey(Device, on_delete=models.CASCADE, related_name="bounds")
    policy = models.CharField(max_length=10, choices=choices(Policy))
    steering_s = models.FloatField()
    floor_s = models.FloatField()
    bound_class = models.CharField(max_length=10)
    record = models.JSONField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["problem", "size", "device", "policy"], name="one_bound_a_policy")
        ]

    def __str__(self) -> str:
        return f"{self.problem.slug} at {self.size} on {self.device}, {self.policy}"
