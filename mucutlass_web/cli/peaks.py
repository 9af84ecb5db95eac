"""Devices by name on the command line; what was measured is kept in the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

from kernels.locks import machine_lock
from kernels.records import dumps, loads
from sol.bounds.cuda import measure_card
from sol.bounds.devices import card, find
from sol.bounds.host import host_name, measure_host
from sol.bounds.record import Device


def _path(kind: str) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "mucutlass" / f"{kind}.json"


def measure_and_keep(kind: str = "host") -> Device:
    """Measure this machine (``host``) or its card (``cuda``) with nothing else of ours running; store the result."""
    with machine_lock(exclusive=True):
        device = measure_card() if kind == "cuda" else measure_host()
    path = _path(kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dumps(device), encoding="utf-8")
    return device


def known_device(kind: str, machine: str) -> Device | None:
    """What is known of the machine that something ran on, without measuring: its kept peaks, or for a card its
    specification; None where there is neither. ``kind`` is "host" or "cuda", ``machine`` the card's name."""
    path = _path(kind)
    if path.exists():
        kept = loads(path.read_text(encoding="utf-8"), Device)
        if kept.name == (host_name() if kind == "host" else machine):
            return kept
    return card(machine) if kind == "cuda" and find(machine) is not None else None


def device_named(name: str) -> Device:
    """``host``, ``cuda``: this machine or its card, measured before or now; else a card of the data file."""
    if name not in ("host", "cuda"):
        return card(name)
    if _path(name).exists():
        kept = loads(_path(name).read_text(encoding="utf-8"), Device)
        if name == "cuda" or kept.name == host_name():
            return kept
    return measure_and_keep(name)
