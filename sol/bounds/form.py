"""A problem's bounds as one flat JSON object: the form of ``mucutlass sol --json`` and of the HTTP API."""

from __future__ import annotations

from typing import Any

from kernels.problems.inspection import Inspection
from kernels.targets import Policy
from sol.bounds.record import Bounds, Work


def bounds_form(
    problem: str,
    name: str,
    level: int | None,
    number: int | None,
    inspection: Inspection,
    work: Work,
    bounds: Bounds,
) -> dict[str, Any]:
    """Times in seconds, sizes in bytes, rates and ridge in FLOP per second and byte.

    ``problem`` is what it is called where it was asked for, ``name`` its file's name without the ending.
    """
    return {
        "problem": problem,
        "name": name,
        "level": level,
        "number": number,
        "size": inspection.size,
        "device": bounds.device,
        "policy": Policy(bounds.policy).value,
        **_amounts(work, bounds),
        **_times(bounds),
    }


def _amounts(work: Work, bounds: Bounds) -> dict[str, Any]:
    flops: dict[str, dict[str, int]] = {"matrix": {}, "vector": {}}
    for part in bounds.pipes:
        flops[part.pipe][part.dtype.value] = part.flops
    return {
        "flops": bounds.flops,
        "matrix_flops": work.matrix_flops,
        "vector_flops": work.vector_flops,
        "flops_by_type": flops,
        "bytes": bounds.bytes,
        "input_bytes": work.input_bytes,
        "output_bytes": work.output_bytes,
        "unfused_bytes": work.unfused_bytes,
        "floor_flops": bounds.floor_flops,
        "floor_bytes": bounds.floor_bytes,
    }


def _times(bounds: Bounds) -> dict[str, Any]:
    return {
        "compute_s": bounds.compute_s,
        "memory_s": bounds.memory_s,
        "steering_bound_s": bounds.steering_s,
        "floor_s": bounds.floor_s,
        "bound_class": bounds.bound_class,
        "intensity": bounds.intensity,
        "ridge": bounds.ridge,
        "unknown_ops": list(bounds.unknown_ops),
        "steering_rests_on": list(bounds.steering_rests_on),
        "floor_rests_on": list(bounds.floor_rests_on),
        "arithmetic": list(bounds.arithmetic),
    }
