"""The gap of each problem of a run, sorted, all against one SOL line: bar to the best, dashed tick at eager.

One row a problem. Up to 40 of them are 30 pixels high and named; more are 8 pixels high and named under the pointer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from runs import figures
from runs.charts import template as t
from runs.charts.tables import Column, Row, Table
from runs.readings import Reading, Step

NAMED = 40
TALL, FLAT = 30, 8
HIGHEST, LOWEST = 9, -4
"""Powers of two at which the axis ends at the latest; what lies beyond is clamped and says its number."""


def drawn(readings: Sequence[Reading]) -> list[Reading]:
    """Problems with a bound and something to draw, most headroom first; without a kernel as at eager."""
    known = [one for one in readings if one.sol_s and (one.counted_gap is not None or one.held)]
    return sorted(known, key=lambda one: (one.counted_gap is None, -(one.counted_gap or 0.0)))


def gap_rows_chart(readings: Sequence[Reading], address: t.Address) -> t.Figure:
    """Ratios on a base-2 logarithmic axis."""
    rows = drawn(readings)
    epsilon = rows[0].epsilon if rows else 0.25
    ratios = [ratio for one in rows for ratio in _ratios(one)]
    first, last = t.octaves(ratios, 0.75, max(8.0, 1 + epsilon))
    first, last = max(first, LOWEST), min(last, HIGHEST)
    named = len(rows) <= NAMED
    low = 2.0 ** (first - 0.2)
    layout = {
        "height": max(1, len(rows)) * (TALL if named else FLAT) + 64,
        "margin": {"l": 216 if named else 20, "r": 64 if named else 20, "t": 26, "b": 38},
        "shapes": [
            t.band("x", low, 1.0, "--bg-1"), t.band("x", 1.0, min(1 + epsilon, 2.0**last), "--sol-bg"),
            t.across("x", 1.0, "--sol"),
        ],
        "annotations": [*_heads(epsilon, first), *(_values(rows) if named else []), *_clamped(rows, first, last)],
        "xaxis": {
            **t.doublings(first, last), "range": [math.log10(low), math.log10(2.0**last)],
            "title": {"text": "best time that counts ÷ SOL"},
        },
        "yaxis": {
            "range": [len(rows) - 0.5, -0.5], "showgrid": False,
            "tickvals": list(range(len(rows))) if named else [],
            "ticktext": [t.short(one.title, 32) for one in rows] if named else [],
        },
    }  # fmt: skip
    margin = {"l": 56 if named else 16, "r": 52 if named else 16}
    slugs = {"ticktext": [t.short(one.slug, 12) for one in rows]} if named else {}
    traces = _traces(rows, address, lambda ratio: min(max(ratio, 2.0**first), 2.0**last), named)
    return t.figure(traces, layout, narrow={"margin": margin, "yaxis": slugs})


def _traces(
    rows: Sequence[Reading], address: t.Address, at: Callable[[float], float], named: bool
) -> list[t.Trace]:
    """``at`` clamps a ratio to the axis."""
    return [
        _bars(rows, lambda one: (one.gap or 1.0, one.eager_gap), at, "--line-2", 1),
        {**_bars(rows, lambda one: (1.0, one.gap), at, "--sol", 4 if named else 3), "opacity": 0.55},
        _ticks(rows, lambda one: one.eager_gap, at, ("--base", "3px,2px" if named else "solid")),
        _ticks(rows, lambda one: one.over_sol(one.floor_s), at, ("--sol", "1px,2px")),
        t.marks(_best(rows, at, address), t.BEST if named else t.BEST._replace(size=6)),
        t.marks(_held(rows, lambda one: one.waiting, at, address), t.HELD._replace(size=9 if named else 7)),
        t.marks(_held(rows, lambda one: one.hacked, at, address), t.HACKED._replace(size=9 if named else 7)),
    ]


def _ratios(one: Reading) -> list[float]:
    held = [one.over_sol(step.time_s) for step in one.held]
    return [ratio for ratio in (one.gap, one.eager_gap, *held) if ratio]


def _bars(
    rows: Sequence[Reading], ends: Callable[[Reading], tuple[float, float | None]], at: Callable[[float], float],
    colour: str, width: float,
) -> t.Trace:  # fmt: skip
    x: list[float | None] = []
    y: list[float | None] = []
    for index, one in enumerate(rows):
        start, end = ends(one)
        if end is not None:
            x += [at(start), at(end), None]
            y += [index, index, None]
    return t.line(x, y, colour, width)


def _ticks(
    rows: Sequence[Reading], value: Callable[[Reading], float | None], at: Callable[[float], float],
    look: tuple[str, str],
) -> t.Trace:  # fmt: skip
    """A short upright line in each row: one path for all of them, which is drawn much faster than marks."""
    x: list[float | None] = []
    y: list[float | None] = []
    for index, one in enumerate(rows):
        ratio = value(one)
        if ratio:
            x += [at(ratio), at(ratio), None]
            y += [index - 0.3, index + 0.3, None]
    return t.line(x, y, look[0], 1.5, dash=look[1])


def _best(rows: Sequence[Reading], at: Callable[[float], float], address: t.Address) -> list[t.Point]:
    return [
        t.Point(at(one.gap), index, address(one.slug, one.best.number), _sentence(one, one.best, one.gap))
        for index, one in enumerate(rows)
        if one.best is not None and one.gap
    ]


def _sentence(one: Reading, best: Step, gap: float) -> str:
    speedup = f", {figures.ratio(one.speedup)} over eager" if one.speedup else ""
    words = one.told(best)
    return f"{one.title}, best #{best.number}: {figures.ratio(gap)} of SOL{speedup}{f'; {words}' if words else ''}"


def fastest_held(one: Reading, among: Sequence[Step] | None = None) -> Step | None:
    """The fastest attempt whose time does not count."""
    return min(one.held if among is None else among, key=lambda step: step.time_s or math.inf, default=None)


def _held(
    rows: Sequence[Reading], among: Callable[[Reading], Sequence[Step]], at: Callable[[float], float],
    address: t.Address,
) -> list[t.Point]:  # fmt: skip
    found = []
    for index, one in enumerate(rows):
        step = fastest_held(one, among(one))
        ratio = one.over_sol(step.time_s) if step else None
        if step and ratio:
            others = len(among(one)) - 1
            more = f"; {others} more held" if others else ""
            sentence = f"{one.title} #{step.number}: {figures.ratio(ratio)} of SOL, {one.told(step)}{more}"
            found.append(t.Point(at(ratio), index, address(one.slug, step.number), sentence))
    return found


def _heads(epsilon: float, first: int) -> list[dict[str, Any]]:
    top = {"yref": "paper", "y": 1, "yanchor": "bottom"}
    near = f"near SOL to {figures.ratio(1 + epsilon)}"
    found = [
        t.note("SOL", "--sol", x=0, xanchor="right", xshift=-4, **top),
        t.note(near, "--sol", x=0, xanchor="left", xshift=4, **top),
    ]
    if first <= -2:
        below = t.note("below SOL", "--ink-3", x=math.log10(2.0**first), xanchor="left", **top, narrow=False)
        found.append(below)
    return found


def _values(rows: Sequence[Reading]) -> list[dict[str, Any]]:
    right = {"xref": "paper", "x": 1, "xanchor": "left", "xshift": 10, "narrow": {}}
    found = []
    for index, one in enumerate(rows):
        text = f"<b>{figures.ratio(one.gap)}</b>" if one.gap else "–"
        found.append(t.note(text, "--ink" if one.gap else "--ink-3", y=index, **right))
    return found


def _clamped(rows: Sequence[Reading], first: int, last: int) -> list[dict[str, Any]]:
    """Numbers of what lies off the axis."""
    found = []
    for index, one in enumerate(rows if len(rows) <= NAMED else ()):
        for value, colour in ((one.gap, "--ink"), (one.eager_gap, "--base")):
            if value and value > 2.0**last:
                place = {"x": math.log10(2.0**last), "xanchor": "right", "xshift": -6, "yshift": 9}
                found.append(t.note(f"{figures.ratio(value)} →", colour, y=index, **place))
        step = fastest_held(one)
        ratio = one.over_sol(step.time_s) if step else None
        if ratio and ratio < 2.0**first:
            place = {"x": math.log10(2.0**first), "xanchor": "left", "xshift": 8}
            found.append(t.note(f"← {figures.ratio(ratio)}", "--severe", y=index, **place))
    return found


_COLUMNS = (
    Column("problem", "Problem"),
    Column("name", "Name"),
    Column("sol_s", "SOL, ms", "ms", "not bounded"),
    Column("floor_s", "Floor, ms", "ms", "not bounded"),
    Column("eager_s", "Eager, ms", "ms"),
    Column("best_s", "Best, ms", "ms", "no passing kernel that counts"),
    Column("attempt", "Attempt", "count", "no passing kernel that counts"),
    Column("gap", "Gap", "times", "no passing kernel that counts"),
    Column("held", "Not counted", "count"),
    Column("not_measured", "Without a time", "count"),
)


def gap_rows_table(readings: Sequence[Reading], address: t.Address) -> Table:
    """All problems, in the chart's order; those without a bound last."""
    rows = []
    shown = drawn(readings)
    known = set(map(id, shown))
    for one in [*shown, *(each for each in readings if id(each) not in known)]:
        best = one.best
        values = (
            one.slug, one.name, one.sol_s, one.floor_s, one.eager_s, best.time_s if best else None,
            best.number if best else None, one.gap, len(one.held), one.unmeasured,
        )  # fmt: skip
        rows.append(Row(values, address(one.slug, best.number) if best else ""))
    return Table("One row a problem, most headroom first", _COLUMNS, rows)
