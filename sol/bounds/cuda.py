"""A live card's peaks: a child process measures what it gives and at which clock, the table says what it should.

Nothing is estimated: what could not be measured is absent, and the clock is left out where NVML keeps it back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

from kernels import childprocess
from kernels.childprocess import ChildLimits, Ending
from sol.bounds import devices
from sol.bounds.errors import CardPeaksUnavailable
from sol.bounds.record import Device

_LIMITS = ChildLimits(seconds=180)
_SECONDS_EACH = 0.4
_NUMBER = re.compile(r"^([a-z0-9_]+) ([0-9.e+]+)$")
_WORDS = re.compile(r"^(card|uuid) (.+)$")
_NO_CARD = 3


def measure_card(*, cancelled: Callable[[], bool] | None = None) -> Device:
    """Measure the first card that is visible, in about ten seconds. Raises CardPeaksUnavailable where there is none.

    ``matrix_flops`` are library products of 8192³ (FP32 4096³), ``copy_bytes_s`` the faster of copying and reading,
    ``cache_bytes_s`` a copy inside the L2. ``vector_flops`` stay the specification's: no library call shows them.
    """
    result = childprocess.run_python(
        "sol.bounds.cuda_child", [f"{_SECONDS_EACH:g}"], limits=_LIMITS, cancelled=cancelled
    )
    if result.ending is not Ending.EXITED or result.code != 0:
        last = (result.stderr.strip().splitlines() or [result.ending.value])[-1]
        remedy = "a machine with a card that torch sees" if result.code == _NO_CARD else "the last line says why"
        raise CardPeaksUnavailable(reason=last, remedy=remedy)
    words, peaks = parse(result.stdout)
    return device_of(words, peaks, datetime.now(UTC).isoformat(timespec="seconds"))


def parse(text: str) -> tuple[dict[str, str], dict[str, float]]:
    """The card's words and its numbers. Raises CardPeaksUnavailable for another line or a missing rate."""
    words: dict[str, str] = {}
    peaks: dict[str, float] = {}
    for line in text.splitlines():
        if found := _WORDS.match(line):
            words[found[1]] = found[2]
        elif found := _NUMBER.match(line):
            peaks[found[1]] = float(found[2])
        else:
            raise CardPeaksUnavailable(
                reason=f"the measuring process printed {line!r}", remedy="a name and a number"
            )
    needed = (
        "copy_bytes_s",
        "read_bytes_s",
        "cache_copy_bytes_s",
        "f16_flops",
        "bf16_flops",
        "tf32_flops",
        "f32_flops",
    )
    missing = [name for name in needed if peaks.get(name, 0.0) <= 0]
    if missing or "card" not in words:
        raise CardPeaksUnavailable(reason=f"no value for {', '.join(missing or ['card'])}", remedy="run it again")
    return words, peaks


def device_of(words: dict[str, str], peaks: dict[str, float], measured_at: str) -> Device:
    """The record of what was measured, beside what the table says of the card where it knows it."""
    rates = {name: peaks[f"{name}_flops"] for name in ("f16", "bf16", "tf32", "f32")}
    facts = {
        "sms": f"{peaks.get('sms', 0):g}",
        "memory_bytes": f"{peaks.get('memory_bytes', 0):.0f}",
        "l2_bytes": f"{peaks.get('l2_bytes', 0):.0f}",
        "read_bytes_s": f"{peaks['read_bytes_s']:.6g}",
        "cache_copy_bytes_s": f"{peaks['cache_copy_bytes_s']:.6g}",
    }
    if "clock_mhz" in peaks:
        facts["clock_ghz"] = f"{peaks['clock_mhz'] / 1e3:g}"
    key = devices.find(words["card"])
    vector: dict[str, float] = {}
    if key is not None:
        facts["card"] = key
        vector = devices.card(key).vector_flops
    return Device(
        name=words["card"],
        kind="cuda",
        matrix_flops=rates,
        vector_flops=vector or {"f32": rates["f32"]},
        copy_bytes_s=max(peaks["copy_bytes_s"], peaks["read_bytes_s"]),
        cache_bytes_s=peaks["cache_copy_bytes_s"],
        cache_bytes=int(peaks["l2_bytes"]) if peaks.get("l2_bytes") else None,
        source="measured",
        measured_at=measured_at,
        facts=facts,
    )
