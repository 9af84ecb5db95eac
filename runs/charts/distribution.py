"""Timed calls of the candidate and each baseline, one row a subject, on one logarithmic axis. Coordinates only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runs import figures

WIDTH, ROW, TOP = 392, 40, 4
EDGE = 6.0
_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)


@dataclass(frozen=True, slots=True)
class Series:
    """One subject's samples in seconds with its quartiles. ``own``: the candidate itself."""

    name: str
    samples: tuple[float, ...]
    q1: float
    median: float
    q3: float
    own: bool


def distribution(series: Sequence[Series]) -> dict[str, Any] | None:
    """A tick a call, a box from quartile to quartile and a line at the median; None of no sample above 0."""
    every = [sample for one in series for sample in one.samples if sample > 0]
    if not every:
        return None
    low, high = min(every), max(every)
    if high < low * 1.02:
        low, high = low * 0.98, high * 1.02

    def x(value: float) -> float:
        inside = min(max(value, low), high)
        return round(EDGE + math.log(inside / low) / math.log(high / low) * (WIDTH - 2 * EDGE), 1)

    base = TOP + ROW * len(series)
    return {
        "width": WIDTH,
        "height": base + 22,
        "base": base,
        "rows": [_row(one, TOP + ROW * index, x) for index, one in enumerate(series)],
        "ticks": _ticks(low, high, x),
        "label": "Timed calls on a log axis: " + "; ".join(map(_words, series)),
    }


def _row(one: Series, top: float, x: Any) -> dict[str, Any]:
    marks = sorted({x(sample) for sample in one.samples if sample > 0})
    return {
        "name": one.name,
        "own": one.own,
        "text": figures.milliseconds_with_unit(one.median),
        "text_y": top + 12,
        "y": top + 17,
        "path": "".join(f"M{mark} {top + 19}v14" for mark in marks),
        "box": (x(one.q1), max(round(x(one.q3) - x(one.q1), 1), 1.0)),
        "median": x(one.median),
    }


def _ticks(low: float, high: float, x: Any) -> list[dict[str, Any]]:
    """Round times on the axis at least 56 pixels apart; the ends of the axis where there are fewer than two."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    round_ones = [step * 10.0**power for power in range(first, last + 1) for step in _STEPS]
    found: list[dict[str, Any]] = []
    for value in round_ones:
        at = x(value)
        if low <= value <= high and (not found or at - found[-1]["x"] >= 56):
            found.append({"x": at, "text": figures.milliseconds(value), "anchor": "middle"})
    found = [tick for tick in found if 14 <= tick["x"] <= WIDTH - 30]
    if len(found) < 2:
        ends = ((low, EDGE, "start"), (high, WIDTH - EDGE, "end"))
        found = [{"x": at, "text": figures.milliseconds(value), "anchor": anchor} for value, at, anchor in ends]
    found[-1]["text"] += f"{figures.THIN}ms"
    return found


def _words(one: Series) -> str:
    calls = figures.counted(len(one.samples), "call")
    quartiles = f"{figures.milliseconds(one.q1)} and {figures.milliseconds_with_unit(one.q3)}"
    return f"{one.name}, {calls}: median {figures.milliseconds_with_unit(one.median)}, quartiles {quartiles}"
