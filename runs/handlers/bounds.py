"""Bounds of every inspected problem on a device, stored so that pages can sort and filter by them."""

from __future__ import annotations

from kernels.models import ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import from_json, to_json
from kernels.targets import Policy
from sol.bounds import bound, count
from sol.bounds.record import Device as DeviceRecord
from sol.models import Bound, Device


def store_bound(size: ProblemSize, device: Device) -> None:
    """Store (again) the bounds of one problem size on one device under each policy."""
    if size.record is None or size.record.get("graph") is None:
        return
    inspection = from_json(size.record, Inspection)
    work, record = count(inspection), from_json(device.record, DeviceRecord)
    for policy in Policy:
        bounds = bound(work, inspection, record, policy)
        Bound.objects.update_or_create(
            problem_id=size.problem_id,
            size=size.size,
            device=device,
            policy=policy,
            defaults={
                "steering_s": bounds.steering_s,
                "floor_s": bounds.floor_s,
                "bound_class": bounds.bound_class,
                "record": to_json(bounds),
            },
        )


def store_bounds(device: Device) -> None:
    """Store the bounds of every inspected problem size on ``device``."""
    for size in ProblemSize.objects.filter(record__isnull=False).iterator(chunk_size=50):
        store_bound(size, device)
