"""Devices by name on the command line; this machine's peaks are kept in the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

from kernels.locks import machine_lock
from kernels.records import dumps, loads
from sol.bounds.devices import card
from sol.bounds.host import host_name, measure_host
from sol.bounds.record import Device


def _path() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "mucutlass" / "host.json"


def measure_and_keep() -> Device:
    """Measure with nothing else of ours running, and store the result."""
    with machine_lock(exclusive=True):
        device = measure_host()
    path = _path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dumps(device), encoding="utf-8")
    return device


def device_named(name: str) -> Device:
    """``host``: this machine, measured before or now; else a card of the data file."""
    if name == "host":
        if _path().exists():
            kept = loads(_path().read_text(encoding="utf-8"), Device)
            if kept.name == host_name():
                return kept
        return measure_and_keep()
    return card(name)
