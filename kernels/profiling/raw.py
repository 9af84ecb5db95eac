"""What the profiler prints with ``--csv --page raw``, as numbers in base units. It knows no metric's meaning.

The table follows lines of chatter, has its units in the first row below its header, quotes every cell (names hold
commas and line breaks), and writes "n/a" for what a card does not have.
"""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RawKernel:
    """One launch: the name as printed, extents of grid and block, compute capability, metrics in base units."""

    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    capability: str
    values: dict[str, float] = field(default_factory=dict)


_PREFIXES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_UNIT = re.compile(r"([numKMGTP]?)(second|byte|cycle|inst|sector|request|hz|s|B)s?$", re.IGNORECASE)
_SHORT_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def factor(unit: str) -> float:
    """What a value in ``unit`` is multiplied by to be in seconds, bytes, cycles … and their quotients."""
    above, _, below = unit.strip().partition("/")
    return _scale(above) / (_scale(below) if below else 1.0)


def _scale(unit: str) -> float:
    unit = unit.strip()
    if unit in _SHORT_SECONDS:
        return _SHORT_SECONDS[unit]
    found = _UNIT.match(unit)
    return _PREFIXES.get(found[1], 1.0) if found else 1.0


def number(text: str) -> float | None:
    """A cell as a number: commas group digits; None for "n/a", an empty cell, words, NaN and infinity."""
    try:
        value = float(text.replace(",", "").strip())
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def parse(text: str) -> list[RawKernel]:
    """All launches of the table in ``text``, in order; none where there is no table."""
    start = re.search(r'^"ID",', text, re.MULTILINE)
    if start is None:
        return []
    try:
        rows = [row for row in csv.reader(io.StringIO(text[start.start() :])) if row]
    except csv.Error:
        return []
    header, units, found = rows[0], {}, []
    for row in rows[1:]:
        if len(row) != len(header):
            continue  # the profiler's chatter after the table
        cells = dict(zip(header, row, strict=True))
        if not cells["ID"]:
            units = cells
        elif cells["ID"].isdigit():
            found.append(_kernel(cells, units))
    return found


def _kernel(cells: dict[str, str], units: dict[str, str]) -> RawKernel:
    values = {}
    for name, cell in cells.items():
        value = number(cell) if "__" in name else None
        if value is not None:
            values[name] = value * factor(units.get(name, ""))
    return RawKernel(
        name=" ".join(cells.get("Kernel Name", "").split()),
        grid=_extents(cells.get("Grid Size", "")),
        block=_extents(cells.get("Block Size", "")),
        capability=cells.get("CC", ""),
        values=values,
    )


def _extents(cell: str) -> tuple[int, ...]:
    """``(256, 1, 1)`` as three numbers."""
    return tuple(int(digits) for digits in re.findall(r"\d+", cell))
