"""Energy of one call: a counter of the whole board or package, read around calls that are repeated until it can tell.

Runs in the supervisor. The counters move in steps, so the measurement begins and ends where the counter has just
moved. What else the board does in that time, idling included, is in the figure.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kernels.harness.nvml import Card, NoFigure

MINIMUM_S, LONG_S, MAXIMUM_S, UPDATES = 0.5, 1.0, 4.0, 10
"""Long enough for half a second and for 10 steps of the counter; given up after 4 s. Calls that take longer than a
step hide steps from whoever reads between them: there 1 s is enough, which holds 10 of the slowest counter's."""
_CHUNK_S = 0.02
_RAPL = Path("/sys/class/powercap")


class Meter(Protocol):
    """A counter of joules since some moment. ``read`` raises NoFigure."""

    name: str

    def read(self) -> float: ...


class CardMeter:
    """The card's total energy by NVML."""

    name = "NVML's total energy counter of the board"

    def __init__(self, card: Card) -> None:
        self._card = card

    def read(self) -> float:
        return self._card.energy()


class PackageMeter:
    """All CPU packages' energy by RAPL, with the counters' wrap undone."""

    name = "RAPL's energy counters of the CPU packages"

    def __init__(self, root: Path = _RAPL) -> None:
        self._zones = sorted(zone for zone in root.glob("intel-rapl:*") if zone.name.count(":") == 1)
        if not self._zones:
            raise NoFigure("this machine shows no RAPL counters")
        self._last = [0.0] * len(self._zones)
        self._wrapped = [0.0] * len(self._zones)

    def read(self) -> float:
        total = 0.0
        for index, zone in enumerate(self._zones):
            value = _microjoules(zone / "energy_uj")
            if value < self._last[index]:
                self._wrapped[index] += _microjoules(zone / "max_energy_range_uj")
            self._last[index] = value
            total += value + self._wrapped[index]
        return total


def _microjoules(path: Path) -> float:
    try:
        return int(path.read_text("ascii")) * 1e-6
    except (OSError, ValueError) as error:
        raise NoFigure(f"RAPL: {error}") from error


@dataclass(frozen=True, slots=True)
class Energy:
    """Joules of one call, and how they were measured."""

    joules: float
    method: str


def measure(
    meter: Meter, call_s: float, repeat: Callable[[int], object], clock: Callable[[], float] = time.monotonic
) -> Energy:
    """Energy of one call that takes about ``call_s``; ``repeat(n)`` does n of them. Raises NoFigure.

    From one step of the counter to another, with whole chunks of calls between them.
    """
    chunk = max(1, round(_CHUNK_S / max(call_s, 1e-7)))
    first = last = _first_step(meter, chunk, repeat, clock)
    began, chunks, updates = clock(), 0, 0
    while True:
        repeat(chunk)
        value = meter.read()
        moved = value != last
        chunks, updates, last = chunks + 1, updates + moved, value
        spent = clock() - began
        hidden = spent >= LONG_S and updates == chunks
        if moved and spent >= MINIMUM_S and (updates >= UPDATES or hidden):
            break
        if spent > MAXIMUM_S:
            raise NoFigure(f"the counter moved {updates} times in {spent:.2g} s; {UPDATES} are needed")
    method = (
        f"{meter.name} over {chunk * chunks} calls back to back in {spent:.3g} s, {updates} steps of it seen; "
        f"idle power included, caches as the call before left them"
    )
    return Energy((value - first) / (chunk * chunks), method)


def _first_step(meter: Meter, chunk: int, repeat: Callable[[int], object], clock: Callable[[], float]) -> float:
    """Calls until the counter moves; its value then."""
    began, still = clock(), meter.read()
    while True:
        repeat(chunk)
        value = meter.read()
        if value != still:
            return value
        if clock() - began > MAXIMUM_S:
            raise NoFigure(f"the counter did not move in {MAXIMUM_S:g} s of calls")
