"""What each bound rests on, in words: a number that nobody can argue with says what it takes for granted."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernels.dtypes import DType
from kernels.targets import Policy
from sol.bounds.graph import packet
from sol.bounds.record import Device, Work

_LOOKUPS = ("embedding", "gather", "index_select", "index")
_DIGITS = re.compile(r"[\d.,]+%?")


def of_steering(work: Work, device: Device, policy: Policy, matrix_types: Iterable[DType]) -> tuple[str, ...]:
    """What the steering bound takes for granted."""
    found = [
        "each input and parameter that the outputs depend on is read once and each output written once: "
        "everything in between stays on the chip",
        f"{_peaks(device)}, kept up from the first instruction to the last; launches cost nothing",
        "the matrix and the vector pipe work side by side",
    ]
    if DType.F32 in matrix_types:
        how = {Policy.STRICT: "as FP32", Policy.TF32: "as TF32", Policy.HALF: "as FP16 or BF16"}[policy]
        found.append(f"FP32 data is multiplied {how}, as policy {policy} allows (where the device can)")
    if any(packet(item.op) in _LOOKUPS for item in work.items):
        found.append("every index looks up a place of its own, up to the size of the table")
    if any(not item.known for item in work.items):
        found.append("operations without a rule take no arithmetic: the bound is too low by them")
    return tuple(found)


def _peaks(device: Device) -> str:
    if device.source == "measured":
        return f"the peaks measured on this device ({device.measured_at})"
    clock = device.facts.get("boost_clock_ghz")
    return f"the specification's peaks at {clock} GHz" if clock else "the specification's peaks"


def of_floor(reasons: Iterable[tuple[str, str]], constant: Iterable[str], cache_bytes: int) -> tuple[str, ...]:
    """What the floor leaves out. ``reasons`` are pairs of an operation and what it can do without."""
    found = [
        "element-wise work is left out: it may ride along with the transfers and the products",
        "the fastest product that the policy's error class allows, at the highest clock",
    ]
    if cache_bytes:
        found.append(f"up to {cache_bytes:,} B may lie in the cache from the call before")
    found += [f"a value that no data can change is not computed: {reason}" for reason in dict.fromkeys(constant)]
    alike: dict[str, list[tuple[str, str]]] = {}
    for node, reason in reasons:
        alike.setdefault(_DIGITS.sub("#", reason), []).append((node, reason))
    for group in alike.values():
        node, reason = group[0]
        others = f" (and {len(group) - 1} more alike)" if len(group) > 1 else ""
        found.append(f"{node}: {reason}{others}")
    return tuple(found)
