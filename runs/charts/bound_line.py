"""The bound line: floor, SOL, this kernel and baselines on one logarithmic axis in milliseconds. Coordinates only.

Labels do not overlap: one that has no room beside its mark moves to the next row up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from runs import figures

EDGE = 8.0
_STEPS = (1.0, 2.0, 5.0)


def _ticks(low: float, high: float) -> list[float]:
    ticks = [
        step * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for step in _STEPS
    ]
    return [tick for tick in ticks if low <= tick <= high]


def bound_line(
    floor_s: float | None,
    sol_s: float | None,
    time_s: float | None,
    eager_s: float | None,
    epsilon: float,
    width: int = 748,
    others: Mapping[str, float] | None = None,
) -> dict[str, Any] | None:
    """All that is known of one kernel's time; ``others`` are further baselines by name, in seconds.

    None where fewer than two of the four times are known.
    """
    times = _known(floor_s, sol_s, time_s, eager_s, others or {})
    if not times:
        return None
    low, high = min(times.values()) / 1.35, max(times.values()) * 1.35
    low, high = min(low, high / 4), high

    def x(value: float) -> float:
        share = math.log(value / low) / math.log(high / low)
        return round(EDGE + share * (width - 2 * EDGE), 1)

    marks = {name: x(value) for name, value in times.items()}
    found: dict[str, Any] = {
        "width": width,
        "end": width - EDGE,
        "start": EDGE,
        "marks": _labels(times, marks, width),
    }
    found["others"] = [found["marks"].pop(name) for name in others or {}]
    found["label"] = "Time on a log axis: " + ", ".join(
        f"{name} {figures.significant(value)}{figures.THIN}ms" for name, value in times.items()
    )
    if "SOL" in marks:
        found["band"] = (marks["SOL"], round(x(min(times["SOL"] * (1 + epsilon), high)) - marks["SOL"], 1))
        if "this kernel" in marks:
            found["gap"] = tuple(sorted((marks["SOL"], marks["this kernel"])))
    found["ticks"] = _spread([(x(tick), f"{tick:g}") for tick in _ticks(low, high)], width)
    return found


def _known(
    floor_s: float | None,
    sol_s: float | None,
    time_s: float | None,
    eager_s: float | None,
    others: Mapping[str, float],
) -> dict[str, float]:
    """Times by name in milliseconds; none of them where fewer than two of the four are known."""
    four = {"floor": floor_s, "SOL": sol_s, "this kernel": time_s, "eager": eager_s}
    known = {name: value for name, value in four.items() if value}
    if len(known) < 2:
        return {}
    return {name: value * 1e3 for name, value in {**known, **others}.items()}


def _spread(ticks: list[tuple[float, str]], width: int) -> list[dict[str, Any]]:
    """Ticks at least 44 pixels apart; the last carries the unit."""
    kept: list[dict[str, Any]] = []
    for x, text in ticks:
        if (not kept or x - kept[-1]["x"] >= 44) and 14 <= x <= width - 24:
            kept.append({"x": x, "text": text})
    if kept:
        kept[-1]["text"] += f"{figures.THIN}ms"
    return kept


_ROWS = (36, 22, 8)
"""Baselines of the labels over the axis; the kernel's own stands lower, beside its dot, where there is room."""
_BESIDE = 51
_SIDES = {"SOL": ("start", "end"), "floor": ("end", "middle", "start"), "eager": ("middle", "end", "start")}
"""On which side of its mark a label hangs, in order of preference."""


def _room(text: str) -> float:
    return 6.4 * len(text) + 6


def _span(x: float, room: float, anchor: str) -> tuple[float, float]:
    left = {"start": x, "middle": x - room / 2, "end": x - room}[anchor]
    return left, left + room


def _free(span: tuple[float, float], taken: list[tuple[float, float]], width: int) -> bool:
    return span[0] >= 0 and span[1] <= width and all(span[1] < left or right < span[0] for left, right in taken)


def _labels(times: dict[str, float], marks: dict[str, float], width: int) -> dict[str, dict[str, Any]]:
    """Each mark with its label's place. Bounds first, then eager, then the kernel where nothing is in its way."""
    placed: dict[str, dict[str, Any]] = {}
    rows: dict[int, list[tuple[float, float]]] = {y: [] for y in _ROWS}
    others = {name: _SIDES["eager"] for name in marks if name not in _SIDES and name != "this kernel"}
    for name, sides in {**_SIDES, **others}.items():
        if name in marks:
            placed[name] = _over(name, times, marks[name], sides, rows, width)
    for name in others:
        if placed[name]["crowded"]:
            # The table of times names it; a label over another one would name nothing.
            placed[name]["text"] = ""
    if "this kernel" in marks:
        placed["this_kernel"] = _kernel(times, marks, rows, width)
    return placed


def _text(name: str, times: dict[str, float]) -> str:
    return f"{name} {figures.significant(times[name])}"


def _over(
    name: str, times: dict[str, float], x: float, sides: tuple[str, ...], rows: dict[int, list[tuple[float, float]]],
    width: int,
) -> dict[str, Any]:  # fmt: skip
    text = _text(name, times)
    for y, taken in rows.items():
        for side in sides:
            span = _span(x, _room(text), side)
            if _free(span, taken, width):
                taken.append(span)
                return {"x": x, "at": x, "text": text, "anchor": side, "y": y, "crowded": False}
    return {"x": x, "at": x, "text": text, "anchor": sides[0], "y": _ROWS[-1], "crowded": True}


def _kernel(
    times: dict[str, float], marks: dict[str, float], rows: dict[int, list[tuple[float, float]]], width: int
) -> dict[str, Any]:
    x, text = marks["this kernel"], _text("this kernel", times)
    others = [(mark - 3, mark + 3) for name, mark in marks.items() if name != "this kernel"]
    for side, at in (("start", x + 10), ("end", x - 10)):
        if _free(_span(at, _room(text), side), others, width):
            return {"x": x, "at": at, "text": text, "anchor": side, "y": _BESIDE}
    return _over("this kernel", times, x, ("middle", "start", "end"), rows, width)
