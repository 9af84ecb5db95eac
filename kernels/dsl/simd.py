"""What the CPU's vector units offer, for the host target's defaults and rules.

The checker takes a ``Simd`` and reads nothing itself, so that the same program checks the same anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Simd:
    """``lanes``: f32 elements of a vector; ``registers``: vector registers; ``micro``: the register tile (m, n) that
    fills them."""

    name: str
    lanes: int
    registers: int
    micro: tuple[int, int]


AVX512 = Simd("avx512", 16, 32, (12, 32))
AVX2 = Simd("avx2", 8, 16, (6, 16))
NEON = Simd("neon", 4, 32, (8, 12))
BASELINE = Simd("baseline", 4, 16, (6, 8))


def from_flags(flags: frozenset[str]) -> Simd:
    """By the ``flags`` (x86) or ``Features`` (Arm) of /proc/cpuinfo."""
    if "avx512f" in flags:
        return AVX512
    if {"avx2", "fma"} <= flags:
        return AVX2
    return NEON if "asimd" in flags else BASELINE


@cache
def detect() -> Simd:
    """Of this machine; the baseline where /proc/cpuinfo cannot be read."""
    try:
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return BASELINE
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return from_flags(frozenset(value.split()))
    return BASELINE
