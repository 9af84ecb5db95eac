"""The card's own counters by NVML, read from outside the process that uses it. It changes nothing on the card.

Every figure is asked for by itself: a card, a driver or a container that keeps one of them back still gives the
others. ``pynvml`` is the module of nvidia-ml-py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_REASONS = {
    0x1: "idle",
    0x2: "application clocks set",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "clocks synchronised with another card",
    0x20: "temperature (software)",
    0x40: "temperature (hardware)",
    0x80: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability limit",
}
"""Bits of nvmlClocksEventReasons (nvml.h), in words."""
HARMLESS = frozenset({"idle", "application clocks set", "display clocks"})
"""Reasons that are no sign of a card held back while it works: it waits, or someone chose its clocks."""


class NoFigure(Exception):
    """A figure that NVML does not give, with the reason in words."""


def throttle_words(mask: int) -> tuple[str, ...]:
    """The set bits of a mask of clock event reasons in words; an unknown bit by its number."""
    words = [word for bit, word in _REASONS.items() if mask & bit]
    unknown = mask & ~sum(_REASONS)
    return (*words, f"unknown reason {unknown:#x}") if unknown else tuple(words)


class Card:
    """One card, by its UUID ("GPU-…"). Raises NoFigure where NVML or the card cannot be reached."""

    def __init__(self, uuid: str, library: Any = None) -> None:
        self._nvml = library if library is not None else _library()
        self._asked(self._nvml.nvmlInit)
        self._handle = self._asked(lambda: self._nvml.nvmlDeviceGetHandleByUUID(uuid))

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except self._nvml.NVMLError as error:
            raise NoFigure(f"NVML: {error}") from error

    def sm_clock(self) -> float:
        """MHz of the multiprocessors, now."""
        return float(self._asked(lambda: self._nvml.nvmlDeviceGetClockInfo(self._handle, self._nvml.NVML_CLOCK_SM)))

    def highest_sm_clock(self) -> float:
        """MHz that the multiprocessors never go beyond."""
        kind = self._nvml.NVML_CLOCK_SM
        return float(self._asked(lambda: self._nvml.nvmlDeviceGetMaxClockInfo(self._handle, kind)))

    def memory_clock(self) -> float:
        """MHz of the memory, now."""
        return float(
            self._asked(lambda: self._nvml.nvmlDeviceGetClockInfo(self._handle, self._nvml.NVML_CLOCK_MEM))
        )

    def temperature(self) -> float:
        """°C of the chip."""
        sensor = self._nvml.NVML_TEMPERATURE_GPU
        return float(self._asked(lambda: self._nvml.nvmlDeviceGetTemperature(self._handle, sensor)))

    def power(self) -> float:
        """W of the whole board; NVML averages over up to a second."""
        return float(self._asked(lambda: self._nvml.nvmlDeviceGetPowerUsage(self._handle))) * 1e-3

    def throttle(self) -> tuple[str, ...]:
        """Why the clocks are not higher, in words."""
        mask = self._asked(lambda: self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle))
        return throttle_words(int(mask))

    def processes(self) -> list[int]:
        """Numbers of the processes that hold a compute context, as NVML names them."""
        found = self._asked(lambda: self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle))
        return [int(process.pid) for process in found]

    def energy(self) -> float:
        """J of the whole board since the driver was loaded."""
        return float(self._asked(lambda: self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle))) * 1e-3


def _library() -> Any:
    try:
        import pynvml
    except ImportError as error:
        raise NoFigure("nvidia-ml-py is not installed") from error
    return pynvml
