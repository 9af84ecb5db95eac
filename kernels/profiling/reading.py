"""From the profiler's metrics to a KernelProfile: each figure to its place, and what is not there by its name."""

from __future__ import annotations

from typing import Any

from kernels.harness.activity import demangled, whose
from kernels.profiling.metrics import METRICS, STALLS, stall_metric
from kernels.profiling.raw import RawKernel
from kernels.profiling.record import KernelProfile, Launch, Memory, Occupancy, Pipes, Schedule, Speed, Stall

_GROUPS: dict[str, Any] = {
    "speed": Speed,
    "launch": Launch,
    "occupancy": Occupancy,
    "schedule": Schedule,
    "pipes": Pipes,
    "memory": Memory,
}
_LONGEST_NAME = 4000


def kernel_profile(raw: RawKernel, symbols: frozenset[str]) -> KernelProfile:
    """The record of one launch. ``symbols`` are the names that stand in the candidate's own shared objects."""
    top: dict[str, Any] = {}
    grouped: dict[str, dict[str, Any]] = {group: {} for group in _GROUPS}
    missing: list[str] = []
    for metric in METRICS:
        name = next((name for name in metric.names if name in raw.values), None)
        value = raw.values[name] if name is not None else None
        if value is None:
            missing.append(metric.names[0])
        group, _, field = metric.place.rpartition(".")
        (grouped[group] if group else top)[field] = value
    grouped["launch"] |= {"grid": raw.grid, "block": raw.block}
    missing += [stall_metric(reason) for reason in STALLS if stall_metric(reason) not in raw.values]
    # Without the prefix it is no C++ name, though it may be a type's: "i" would come out as "int".
    name = demangled(raw.name.encode()) if raw.name.startswith("_Z") else raw.name
    own, origin = whose(raw.name if raw.name in symbols else name, symbols)
    return KernelProfile(
        name=name[:_LONGEST_NAME],
        own=own,
        origin=origin,
        stalls=_stalls(raw, grouped["schedule"]["cycles_per_issue"]),
        missing=tuple(missing),
        **top,
        **{group: kind(**grouped[group]) for group, kind in _GROUPS.items()},
    )


def _stalls(raw: RawKernel, between: float | None) -> tuple[Stall, ...]:
    """What a warp does in the cycles between two of its issues, the largest part first."""
    found = [
        Stall(reason, cycles, cycles / between if between else None)
        for reason in STALLS
        if (cycles := raw.values.get(stall_metric(reason))) is not None
    ]
    return tuple(sorted(found, key=lambda stall: -stall.cycles))
