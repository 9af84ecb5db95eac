"""Candidates on one axis of milliseconds: all timed calls of each, and its place between floor, SOL and eager."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from django.urls import reverse

from runs import figures
from runs.charts import template as t
from runs.charts.tables import Column, Row, Table
from runs.comparing.charts import Chart
from runs.comparing.sides import Side

_ROW = 44
_LOG_FROM = 4.0
"""The axis of calls is logarithmic where the slowest takes this many times as long as the fastest."""
_TICK = t.Kind("line-ns-open", "--ctl", 12)
_FLOOR = t.Kind("line-ns-open", "--sol", 12)
_EAGER = t.Kind("line-ns-open", "--base", 18)
_SOL = t.Kind("line-ns-open", "--sol", 22)
Sides = tuple[Side, ...]


def address_of(side: Side) -> str:
    """A candidate's page."""
    return reverse("candidate", args=[side.run.pk, side.slug, side.attempt.number])


def _rows(found: Sides) -> dict[str, Any]:
    """One row a candidate, A at the top."""
    return {
        "range": [len(found) - 0.4, -0.6], "showgrid": False, "tickvals": list(range(len(found))),
        "ticktext": [t.short(one.name, 30) for one in found],
    }  # fmt: skip


def _axis(times: Sequence[float], log: bool, title: str) -> dict[str, Any]:
    """Milliseconds, with a little room on both sides."""
    low, high = (min(times), max(times)) if times else (1e-3, 1e-3)
    if log:
        ends = [math.log10(low * 1e3 / 1.2), math.log10(high * 1e3 * 1.2)]
        values = [step * 10.0**power for power in range(math.floor(ends[0]), math.ceil(ends[1]) + 1)
                  for step in (1, 2, 5)]  # fmt: skip
        shown = [value for value in values if ends[0] <= math.log10(value) <= ends[1]]
        return {"type": "log", "range": ends, "tickvals": shown, "ticktext": [f"{value:g}" for value in shown],
                "title": {"text": f"{title}, ms, log axis"}}  # fmt: skip
    room = (high - low) * 0.06 or high * 0.05
    return {"range": [(low - room) * 1e3, (high + room) * 1e3], "title": {"text": f"{title}, ms"}, "nticks": 8}


def _layout(found: Sides, x: dict[str, Any]) -> dict[str, Any]:
    return {
        "height": len(found) * _ROW + 62, "margin": {"l": 150, "r": 20, "t": 20, "b": 42}, "shapes": [],
        "annotations": [], "xaxis": x, "yaxis": _rows(found),
    }  # fmt: skip


def _narrow(found: Sides) -> dict[str, Any]:
    short = [t.short(f"{one.letter} #{one.attempt.number}", 9) for one in found]
    return {"margin": {"l": 52, "r": 14}, "yaxis": {"ticktext": short}}


def calls_chart(found: Sides) -> t.Figure:
    """Every call as a tick, the quartiles as a bar, the median as a dot; SOL where all have one and the same."""
    timed = [(at, one, one.timing) for at, one in enumerate(found) if one.timing]
    bounds = {one.attempt.trajectory.sol_s for one in found}
    sol_s = next(iter(bounds)) if len(bounds) == 1 else None
    seen = [sample for _, _, timing in timed for sample in timing.samples]
    log = bool(seen) and max(seen) / min(seen) >= _LOG_FROM
    x = _axis([*seen, *([sol_s] if sol_s and log else [])], log, "each timed call")
    calls = [t.Point(sample * 1e3, at, "", "") for at, _, timing in timed for sample in timing.samples]
    across: list[float | None] = []
    up: list[float | None] = []
    for at, _, timing in timed:
        across += [timing.q1_s * 1e3, timing.q3_s * 1e3, None]
        up += [at, at, None]
    medians = [
        (one, t.Point(timing.median_s * 1e3, at, address_of(one), f"{one.name}: {_words(one)}"))
        for at, one, timing in timed
    ]
    data = [
        {**t.ticks(calls, _TICK), "opacity": 0.6},
        t.line(across, up, "--ink-2", 6),
        t.marks([point for one, point in medians if not one.attempt.held], t.BEST._replace(size=10)),
        t.marks([point for one, point in medians if one.attempt.held], t.HELD._replace(size=11)),
    ]
    layout = _layout(found, x)
    if sol_s and log:
        layout["shapes"].append(t.across("x", sol_s * 1e3, "--sol"))
        layout["annotations"].append(
            t.note("SOL", "--sol", x=math.log10(sol_s * 1e3), yref="paper", y=1, yanchor="bottom")
        )
    return t.figure(data, layout, narrow=_narrow(found))


def _words(side: Side) -> str:
    timing = side.timing
    assert timing is not None
    quartiles = f"{figures.milliseconds(timing.q1_s)} and {figures.milliseconds_with_unit(timing.q3_s)}"
    held = f"; {side.attempt.told}" if side.attempt.held else ""
    return f"median {figures.milliseconds_with_unit(timing.median_s)}, quartiles {quartiles}{held}"


def bounds_chart(found: Sides) -> t.Figure:
    """A bound line each: floor, SOL, this kernel and torch eager, all on one logarithmic axis."""
    every = [_marks_of(one) for one in found]
    times = [value for one in every for value in one.values() if value]
    times += [one.attempt.time_s for one in found if one.attempt.time_s]
    data: list[t.Trace] = [_gaps(every)]
    kinds = (("floor", _FLOOR), ("SOL", _SOL), ("eager", _EAGER))
    for name, kind in kinds:
        places = [(at, one[name]) for at, one in enumerate(every)]
        points = [t.Point(value * 1e3, at, "", "") for at, value in places if value]
        data.append({**t.ticks(points, kind), "name": name})
    for held, kind in ((False, t.BEST._replace(size=10)), (True, t.HELD._replace(size=11))):
        points = [
            t.Point(one.attempt.time_s * 1e3, at, address_of(one), f"{one.name}: {_placed(one)}")
            for at, one in enumerate(found)
            if one.attempt.time_s and bool(one.attempt.held) is held
        ]
        data.append(t.marks(points, kind))
    layout = _layout(found, _axis(times, True, "time"))
    layout["annotations"] = _named(every)
    return t.figure(data, layout, narrow=_narrow(found))


def _marks_of(side: Side) -> dict[str, float | None]:
    t_ = side.attempt.trajectory
    return {"floor": t_.floor_s, "SOL": t_.sol_s, "eager": side.eager_s}


def _gaps(every: Sequence[dict[str, float | None]]) -> t.Trace:
    """The thin line from SOL to eager: all that can be won."""
    across: list[float | None] = []
    up: list[float | None] = []
    for at, one in enumerate(every):
        if one["SOL"] and one["eager"]:
            across += [one["SOL"] * 1e3, one["eager"] * 1e3, None]
            up += [at, at, None]
    return t.line(across, up, "--line-2", 1)


def _named(every: Sequence[dict[str, float | None]]) -> list[dict[str, Any]]:
    """Names of the marks over the first row that has them."""
    colours = {"SOL": "--sol", "eager": "--base"}
    notes = []
    for name, colour in colours.items():
        at = next((index for index, one in enumerate(every) if one[name]), None)
        if at is not None:
            place = math.log10((every[at][name] or 1.0) * 1e3)
            notes.append(t.note(name, colour, x=place, y=at, yshift=24, xanchor="center", yanchor="middle"))
    return notes


def _placed(side: Side) -> str:
    one = side.attempt
    assert one.time_s is not None
    gap = f", {figures.ratio(one.gap)} of SOL" if one.gap is not None else ""
    held = f"; {one.told}" if one.held else ""
    return f"{figures.milliseconds_with_unit(one.time_s)}{gap}{held}"


_WHO = (Column("candidate", "Candidate"), Column("run", "Run"), Column("device", "Device", none="not measured"))
_CALLS = (
    *_WHO, Column("call", "Call", "count"), Column("seconds", "Time, ms", "ms"),
    Column("median_s", "Median, ms", "ms"), Column("q1_s", "First quartile, ms", "ms"),
    Column("q3_s", "Third quartile, ms", "ms"), Column("counts", "Counts"),
)  # fmt: skip
_BOUNDS = (
    *_WHO, Column("floor_s", "Floor, ms", "ms", "not bounded"), Column("sol_s", "SOL, ms", "ms", "not bounded"),
    Column("time_s", "This kernel, ms", "ms"), Column("eager_s", "Torch eager, ms", "ms"),
    Column("gap", "Gap", "times", "no time that counts"), Column("counts", "Counts"),
)  # fmt: skip


def _who(side: Side) -> tuple[Any, ...]:
    return side.name, str(side.run), side.device or None


def _said(side: Side) -> str:
    return side.attempt.held or ("yes" if side.attempt.time_s else "no time")


def calls_table(found: Sides) -> Table:
    """One row a timed call; the page shows each candidate's first."""
    rows = []
    for side in found:
        timing = side.timing
        samples: tuple[float | None, ...] = timing.samples if timing else (None,)
        ends = (timing.median_s, timing.q1_s, timing.q3_s) if timing else (None, None, None)
        for at, sample in enumerate(samples):
            values = (*_who(side), at + 1 if timing else None, sample, *ends, _said(side))
            rows.append(Row(values, address_of(side), aside=at > 0))
    return Table("Each candidate’s first timed call with its median and quartiles", _CALLS, rows)


def bounds_table(found: Sides) -> Table:
    """One row a candidate."""
    rows = [
        Row((*_who(one), one.attempt.trajectory.floor_s, one.attempt.trajectory.sol_s, one.attempt.time_s,
             one.eager_s, one.attempt.gap, _said(one)), address_of(one))
        for one in found
    ]  # fmt: skip
    return Table("Each candidate between its bounds and torch eager", _BOUNDS, rows)


_Figure = Callable[[Sides], t.Figure]
CANDIDATE_CHARTS: dict[str, Chart[Sides]] = {
    chart.key: chart
    for chart in (
        Chart(
            "bounds", "Bound lines", "teal: floor (short) and SOL; purple: torch eager; dot: this kernel",
            "Floor, SOL, the kernel and torch eager of each candidate on one logarithmic axis",
            bounds_chart, bounds_table,
        ),
        Chart(
            "calls", "Timing distributions", "ticks: calls; bar: quartiles; dot: median; diamond: does not count",
            "Every timed call of each candidate on one axis",
            calls_chart, calls_table,
        ),
    )
}  # fmt: skip
