"""What is stored of bounds and of audits: devices, each problem's bounds on them, and cases with their flags."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models, transaction

from kernels.models import Problem, choices
from kernels.targets import Policy
from sol.case_models import Case as Case
from sol.case_models import Entry as Entry
from sol.case_models import Flag as Flag

ELSEWHERE = "elsewhere"
"""The kind of a device that no worker of this installation measured: nothing here is bounded by it."""


class Devices(models.Manager["Device"]):
    """Devices by their name."""

    def keep(self, name: str, kind: str, record: dict[str, Any]) -> Device:
        """Store what a worker of this installation knows of its device.

        Bounds that came with an archive from a device of that name rest on that one's peaks: they are dropped.
        """
        with transaction.atomic():
            known = self.select_for_update().filter(name=name).first()
            if known is not None and known.kind == ELSEWHERE and known.record != record:
                Bound.objects.filter(device=known).delete()
            return self.update_or_create(name=name, defaults={"kind": kind, "record": record})[0]


class Device(models.Model):
    """A machine whose peaks were measured, or a card's specification. ``record`` is a bounds Device's JSON.

    ``kind`` is the record's, or ``ELSEWHERE``.
    """

    name = models.CharField(max_length=200, unique=True)
    kind = models.CharField(max_length=10)
    record = models.JSONField()
    measured = models.DateTimeField(auto_now=True)

    objects = Devices()

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
