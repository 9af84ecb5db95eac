"""The run's main chart: best time over SOL by attempt, against baseline and bound, as a Plotly figure of plain dicts.

One problem: its attempts as points, its best line and its floor. Several: one thin line each, their geomean thick, and
where each of them ended. An attempt whose time is held has its own mark and is part of no line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from runs import figures
from runs.board import Board, Row
from runs.charts import template as t
from runs.charts.tables import Column, Table
from runs.charts.tables import Row as TableRow
from runs.readings import Step
from sol.gap.standing import Held, told

Link = Callable[[Row, int], str]
_RIGHT = {"xref": "paper", "x": 1, "xanchor": "left", "xshift": 8}
_INSIDE = {"xanchor": "right", "xshift": -2, "yshift": 0, "yanchor": "top"}
_PLOT_HEIGHT = 230


def geomean_line(rows: Sequence[Row]) -> list[float]:
    """The geomean after 0, 1, 2 … attempts on each problem; a problem that ended keeps its last value."""
    curves = [[v for v in row.curve if v is not None] for row in rows]
    curves = [curve for curve in curves if curve]
    if not curves:
        return []
    longest = max(len(curve) for curve in curves)
    found = (figures.geomean([curve[min(i, len(curve) - 1)] for curve in curves]) for i in range(longest))
    return [value for value in found if value is not None]


def best_chart(board: Board, link: Link, only: Row | None = None) -> t.Figure:
    """Data and layout. ``link`` makes the address of a row's attempt."""
    rows = [only] if only is not None else board.rows
    eager = only.eager_gap if only is not None else board.eager_gap
    one = only is not None or len(rows) == 1
    thick = geomean_line(rows)
    data = _one(rows[0], link) if one and rows else _many(rows, link, thick)
    seen = [y for trace in data for y in trace["y"] if y]
    layout = _layout(board, seen, eager)
    floor = rows[0].trajectory.floor_s if one and rows else None
    if floor and rows[0].trajectory.sol_s:
        layout["shapes"].append(t.across("y", floor / rows[0].trajectory.sol_s, "--sol", "1px,3px"))
    beside = layout["annotations"]
    summary = _summary(rows, thick, one)
    if summary is not None:
        layout["annotations"] = [*beside, summary]
        if summary["x"] > 0.8 * board.run.attempts:
            beside = layout["annotations"]
    low, high = layout["yaxis"]["range"]
    t.apart(beside, _PLOT_HEIGHT / (high - low))
    return t.figure(data, layout, narrow={"margin": {"l": 44, "r": 12}})


def _corners(curve: Sequence[float | None]) -> tuple[list[float], list[float]]:
    """Where a step line has to be told: its start, each change, its end."""
    known = [(x, y) for x, y in enumerate(curve) if y is not None]
    kept = [known[0]] if known else []
    kept += [b for a, b in pairwise(known) if b[1] != a[1]]
    if len(known) > 1 and kept[-1] != known[-1]:
        kept.append(known[-1])
    return [float(x) for x, _ in kept], [y for _, y in kept]


def _attempt(row: Row, step: Step, link: Link, word: str, title: str = "") -> t.Point | None:
    sol = row.trajectory.sol_s
    if step.time_s is None or not sol:
        return None
    standing = told(step.held, step.time_s, row.trajectory.floor_s)
    sentence = f"{title}#{step.number} {word}, {figures.ratio(step.time_s / sol)} of SOL"
    sentence += f"; {standing}" if standing else ""
    return t.Point(float(step.number), step.time_s / sol, link(row, step.number), sentence)


def _known(points: Sequence[t.Point | None]) -> list[t.Point]:
    return [point for point in points if point is not None]


def _one(row: Row, link: Link) -> list[t.Trace]:
    best = row.best
    others = [step for step in row.steps if step.counts and step != best]
    return [
        t.line(*_corners(row.curve), "--ink", 2.25, steps=True),
        t.marks(_known([_attempt(row, step, link, "passed") for step in others]), t.OTHER._replace(size=8)),
        *_held([(step, _attempt(row, step, link, "passed")) for step in row.held]),
        t.marks(_known([_attempt(row, best, link, "best")] if best else []), t.BEST._replace(size=10)),
    ]


def _held(points: Sequence[tuple[Step, t.Point | None]]) -> list[t.Trace]:
    """Hollow where it waits for a person, filled where one settled it as gamed."""
    waiting = [point for step, point in points if step.held != Held.HACKED]
    hacked = [point for step, point in points if step.held == Held.HACKED]
    return [t.marks(_known(waiting), t.HELD), t.marks(_known(hacked), t.HACKED)]


def _many(rows: Sequence[Row], link: Link, thick: Sequence[float]) -> list[t.Trace]:
    x: list[float | None] = []
    y: list[float | None] = []
    ends: dict[bool, list[t.Point]] = {True: [], False: []}
    held: list[tuple[Step, t.Point | None]] = []
    for row in rows:
        across, up = _corners(row.curve)
        x += [*across, None]
        y += [*up, None]
        name = f"{row.trajectory.problem.slug} {row.trajectory.problem.name}"
        held += [(step, _attempt(row, step, link, "passed", f"{name} ")) for step in row.held]
        if row.gap is not None and row.best is not None:
            sentence = f"{name}, best #{row.best.number}: {figures.ratio(row.gap)} of SOL"
            ends[row.near].append(t.Point(float(len(row.ended)), row.gap, link(row, row.best.number), sentence))
    data = [
        {**t.line(x, y, "--ctl", 1, steps=True), "opacity": 0.5},
        t.marks(ends[False], t.END),
        t.marks(ends[True], t.NEAR),
        *_held(held),
        t.line(list(range(len(thick))), thick, "--ink", 2.25, steps=True),
    ]
    if thick:
        data.append(t.ticks([t.Point(len(thick) - 1, thick[-1], "", "")], t.BEST))
    return data


def _summary(rows: Sequence[Row], curve: Sequence[float], one: bool) -> dict[str, Any] | None:
    if not curve or not any(row.gap is not None for row in rows):
        return None
    text = f"<b>{'best' if one else 'geomean'} {figures.ratio(curve[-1])}</b>"
    place = {"x": len(curve) - 1, "y": math.log10(curve[-1])}
    narrow = {"xanchor": "right", "xshift": -6, "yshift": 10}
    return t.note(text, "--ink", **place, xanchor="left", xshift=8, narrow={**narrow, "bgcolor": "--bg"})


def _layout(board: Board, seen: Sequence[float], eager: float | None) -> dict[str, Any]:
    first, last = t.octaves([*seen, eager or 1.0], 0.75, 4.0)
    near = 1 + board.epsilon
    shapes = [
        t.band("y", 2.0**first, 1.0, "--bg-1"),
        t.band("y", 1.0, near, "--sol-bg"),
        t.across("y", 1.0, "--sol"),
    ]
    notes = [
        t.note("SOL 1×", "--sol", y=0, **_RIGHT, narrow=_INSIDE),
        t.note(f"near SOL to {figures.ratio(near)}", "--sol", y=math.log10(near), **_RIGHT, narrow=False),
    ]
    if eager is not None:
        shapes.append(t.across("y", eager, "--base", "5px,4px"))
        words = f"eager {figures.ratio(eager)}"
        notes.append(
            t.note(words, "--base", y=math.log10(eager), **_RIGHT, narrow={**_INSIDE, "yanchor": "bottom"})
        )
    return {
        "shapes": shapes, "annotations": notes, "height": 280, "uirevision": f"run-{board.run.pk}",
        "xaxis": {
            **t.whole(board.run.attempts), "title": {"text": f"attempts on each problem, of {board.run.attempts}"},
        },
        "yaxis": t.doublings(first, last),
    }  # fmt: skip


_COLUMNS = (
    Column("problem", "Problem"),
    Column("name", "Name"),
    Column("attempt", "Attempt", "count"),
    Column("best_over_sol", "Best over SOL", "times", "no passing kernel that counts, and eager not measured"),
    Column("sol_s", "SOL, ms", "ms", "not bounded"),
    Column("eager_s", "Eager, ms", "ms"),
)


def best_table(board: Board) -> Table:
    """The best after each attempt of each problem; attempt 0 is eager. The page shows where each problem ended."""
    rows = []
    for row in board.rows:
        p, sol_s, eager_s = row.trajectory.problem, row.trajectory.sol_s, row.trajectory.eager_s
        curve = row.curve
        for number, value in enumerate(curve):
            values = (p.slug, p.name, number, value, sol_s, eager_s)
            rows.append(TableRow(values, aside=number < len(curve) - 1))
    return Table("Best time over SOL after the last attempt on each problem", _COLUMNS, rows)
