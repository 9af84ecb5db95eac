"""Bytes moved beyond the minimum, and what they cost at the bound's own rate.

By the profile's DRAM counters where there are some, else by the plan: what its stages hand to each other, and read
again. A plan says what was asked for, not what reached memory.
"""

from __future__ import annotations

import math
from typing import ClassVar

from kernels.codegen.emission import Launch, Plan, PlanValue, TorchCall
from kernels.profiling.record import Profile
from sol.bounds.units import amount, seconds
from sol.gap.base import Part
from sol.gap.evidence import Evidence
from sol.gap.record import Factor, FactorName


class Traffic(Part):
    """The bound that the bytes moved would have, over the bound."""

    name: ClassVar[FactorName] = FactorName.TRAFFIC

    def factor(self, evidence: Evidence) -> Factor:
        """At least 1; bytes that hide behind arithmetic cost nothing."""
        profile = evidence.measured_profile
        if profile is not None and _moved(profile) is not None:
            return self._of_profile(evidence, profile)
        if evidence.emission is None or not evidence.emission.plan.steps:
            return self.unknown(f"bytes are not known: {evidence.why_no_profile}, and there is no plan")
        if any(unit.hand_written for unit in evidence.emission.units):
            why = f"{evidence.why_no_profile}, and no plan tells what a hand-written stage moves"
            return self.unknown(f"bytes are not known: {why}")
        if evidence.device is None:
            return self.unknown("the device that the bound was made for is not at hand")
        return self._of_plan(evidence, evidence.emission.plan)

    def _of_profile(self, evidence: Evidence, profile: Profile) -> Factor:
        moved, bounds = _moved(profile) or 0.0, evidence.bounds
        words = f"{amount(moved, 'B')} to and from memory; the bound has {amount(bounds.bytes, 'B')}"
        if bounds.bytes <= 0:
            return self.unknown(f"{words}, and a multiple of nothing says nothing")
        took = bounds.memory_s * moved / bounds.bytes
        if profile.method is not None and profile.method.cache_control == "all" and len(profile.kernels) > 1:
            words += ", caches flushed between kernels"
        return self._cost(evidence, took, words, "profile")

    def _of_plan(self, evidence: Evidence, plan: Plan) -> Factor:
        device, bounds = evidence.device, evidence.bounds
        assert device is not None  # factor() has looked
        extra = handed_on(plan)
        total = sum(size for _, size in extra)
        if not total:
            words = f"the plan's stages hand nothing to each other; the bound has {amount(bounds.bytes, 'B')}"
            return self._cost(evidence, bounds.memory_s, words, "plan")
        cached = [size for once, size in extra if device.cache_bytes_s and once <= (device.cache_bytes or 0)]
        took = bounds.memory_s + (total - sum(cached)) / device.copy_bytes_s
        if cached:
            took += sum(cached) / max(device.cache_bytes_s or 0.0, device.copy_bytes_s)
        words = f"{amount(total, 'B')} between the plan's stages"
        words += f", {amount(sum(cached), 'B')} of them at the cache's rate" if cached else ""
        return self._cost(evidence, took, f"{words}; the bound has {amount(bounds.bytes, 'B')}", "plan")

    def _cost(self, evidence: Evidence, took: float, words: str, seen_in: str) -> Factor:
        bounds = evidence.bounds
        value = max(took / bounds.steering_s, 1.0)
        if value == 1.0 and took > bounds.memory_s:
            words += f"; {seconds(took)} behind {seconds(bounds.compute_s)} of arithmetic"
        return self.known(value, words, seen_in)


def _moved(profile: Profile) -> float | None:
    """DRAM bytes of all launches; None where a counter is missing."""
    figures = [(kernel.memory.dram_read_bytes, kernel.memory.dram_write_bytes) for kernel in profile.kernels]
    if any(read is None or written is None for read, written in figures):
        return None
    return sum((read or 0.0) + (written or 0.0) for read, written in figures)


def handed_on(plan: Plan) -> list[tuple[int, int]]:
    """Bytes that a perfectly fused program would not move, a storage at a time: its size, and how much is moved.

    An input or parameter is free once, an output once; every other reading or writing is extra.
    """
    values = {value.name: value for value in plan.values}
    moved: dict[str, int] = {}
    for step in plan.steps:
        for name in () if step.once else (*_read(step, values), *step.results):
            if name in values:
                value = values[name]
                moved[value.storage] = moved.get(value.storage, 0) + _held(value)
    # What was prepared once stands for the parameter that it was made from.
    prepared = [name for step in plan.steps if step.once for name in step.results]
    needed = (*plan.inputs, *plan.parameters, *plan.outputs, *prepared)
    free = {values[name].storage for name in needed if name in values}
    sizes = _sizes(plan)
    extra = [(sizes[storage], size - (sizes[storage] if storage in free else 0)) for storage, size in moved.items()]
    return [(size, left) for size, left in extra if left > 0]


def _held(value: PlanValue) -> int:
    """Bytes of a value's elements; an axis without a stride is held once."""
    extents = (extent for extent, stride in zip(value.shape, value.strides, strict=True) if stride)
    return math.prod(extents) * value.dtype.bytes


def _sizes(plan: Plan) -> dict[str, int]:
    """Bytes of each storage: of its largest value."""
    sizes: dict[str, int] = {}
    for value in plan.values:
        sizes[value.storage] = max(sizes.get(value.storage, 0), _held(value))
    return sizes


def _read(step: Launch | TorchCall, values: dict[str, PlanValue]) -> tuple[str, ...]:
    if isinstance(step, Launch):
        return step.pointers
    return tuple(name for name in _names((step.args, step.kwargs)) if name in values)


def _names(part: object) -> list[str]:
    """Values that a torch call names, wherever they stand in its arguments."""
    if isinstance(part, dict):
        if set(part) == {"value"} and isinstance(part["value"], str):
            return [part["value"]]
        return [name for each in part.values() for name in _names(each)]
    if isinstance(part, list | tuple):
        return [name for each in part for name in _names(each)]
    return []
