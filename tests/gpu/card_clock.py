"""The clock of a card's multiprocessors while another process works on it, read beside that process."""

from __future__ import annotations

import statistics
import threading
import time
from types import TracebackType
from typing import Any

_APART_S = 0.005


class ClockWatch:
    """A thread that reads device 0's SM clock every five milliseconds or so, as long as the context lasts."""

    def __init__(self) -> None:
        self._found: list[tuple[float, int]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> ClockWatch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def median_mhz(self, start: float, end: float) -> float | None:
        """Between two readings of the monotonic clock, which processes share; None where nothing was read."""
        found = [mhz for at, mhz in self._found if start <= at <= end]
        return statistics.median(found) if found else None

    def _read(self) -> None:
        nvml = _library()
        if nvml is None:
            return
        card = nvml.nvmlDeviceGetHandleByIndex(0)
        while not self._over.wait(_APART_S):
            self._found.append((time.monotonic(), nvml.nvmlDeviceGetClockInfo(card, nvml.NVML_CLOCK_SM)))


def _library() -> Any:
    """NVML where there is a card; it tells nothing that a report could not do without."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # noqa: BLE001 - no card, no driver, no package: then there is no clock
        return None
    return pynvml
