"""Cards from their makers' specifications, so that a problem has bounds for a card that is not at hand."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from sol.bounds.errors import UnknownCard
from sol.bounds.record import Device

_TABLE = Path(__file__).with_name("cards.json")
_CACHE_BYTES_PER_CLOCK = 128
"""Bytes between an SM and the L2 in a clock, 64 each way: the most the SM's port takes, no measured rate."""


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = json.loads(_TABLE.read_text(encoding="utf-8"))
    return table


def names() -> tuple[str, ...]:
    """The cards of the table by their short names."""
    return tuple(_table())


def card(name: str) -> Device:
    """A card's specification by short name, alias or full name, in any case. Raises UnknownCard.

    Dense rates at the boost clock the datasheet's figures go by: SMs · clock · FLOP per clock per SM.
    ``copy_bytes_s`` is the memory's specified rate; ``cache_bytes_s`` is what all SMs' ports to the L2 pass.
    """
    key = find(name)
    if key is None:
        raise UnknownCard(name=name, known=", ".join(names()))
    entry = _table()[key]
    clock = entry["sms"] * entry["boost_clock_ghz"] * 1e9
    fastest = entry["sms"] * entry.get("max_clock_ghz", entry["boost_clock_ghz"]) * 1e9
    stated = [name for name in entry if name in ("sms", "boost_clock_ghz", "max_clock_ghz", "memory_bytes")]
    facts: dict[str, str] = {name: f"{entry[name]:g}" for name in stated}
    return Device(
        name=entry["name"],
        kind="cuda",
        matrix_flops={kind: each * clock for kind, each in entry["matrix_per_clock"].items()},
        vector_flops={kind: each * clock for kind, each in entry["vector_per_clock"].items()},
        copy_bytes_s=entry["memory_bytes_s"],
        cache_bytes_s=_CACHE_BYTES_PER_CLOCK * fastest,
        cache_bytes=entry["cache_bytes"],
        source="specification",
        measured_at=None,
        facts={**facts, "card": key, "source": entry["source"]},
    )


def specification(device: Device) -> Device | None:
    """The specification of a card that was measured, or the device itself where it is one; None for others."""
    if device.kind != "cuda":
        return None
    if device.source == "specification":
        return device
    key = find(device.name)
    return None if key is None else card(key)


def find(name: str) -> str | None:
    """The key of a card by short name, alias or full name, in any case; None where the table has none."""
    wanted = _plain(name)
    for key, entry in _table().items():
        if wanted in {_plain(each) for each in (key, entry["name"], *entry["aliases"])}:
            return key
    return None


def _plain(name: str) -> str:
    words = name.lower().replace("-", " ").replace("_", " ").split()
    return " ".join(word for word in words if word != "nvidia")
