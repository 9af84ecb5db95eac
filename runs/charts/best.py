"""The run's main chart: best time over SOL by attempt, as a Plotly figure of plain dicts and lists.

Colours are names of the style sheet's tokens ("--ink"); the page's script puts the theme's colours in their place.
One problem: its attempts as points and its best line. Several: one thin line each, and their geomean thick.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from runs import figures
from runs.board import Board, Row

Link = Callable[[Row, int], str]


def _line(x: Sequence[float], y: Sequence[float | None], colour: str, width: float) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "lines", "x": list(x), "y": list(y), "hoverinfo": "skip", "showlegend": False,
        "line": {"shape": "hv", "color": colour, "width": width}, "cliponaxis": False,
    }  # fmt: skip


def _points(
    points: Sequence[tuple[float, float, str, str]], colour: str, size: float, hollow: bool
) -> dict[str, Any]:
    """Points that can be focused and opened: ``customdata`` holds each one's address and sentence."""
    return {
        "type": "scatter", "mode": "markers", "showlegend": False, "cliponaxis": False,
        "x": [p[0] for p in points], "y": [p[1] for p in points],
        "customdata": [[p[2], p[3]] for p in points], "hovertemplate": "%{customdata[1]}<extra></extra>",
        "marker": {
            "symbol": "circle-open" if hollow else "circle", "size": size, "color": colour,
            "line": {"width": 1, "color": colour if hollow else "--bg"},
        },
    }  # fmt: skip


def start_and_best(row: Row) -> list[float | None]:
    """Over SOL before any attempt (eager's) and after each."""
    return [row.eager_gap, *(value if value is not None else row.eager_gap for value in row.best_after)]


def geomean_line(rows: Sequence[Row]) -> list[float]:
    """The geomean after 0, 1, 2 … attempts on each problem; a problem that ended keeps its last value."""
    curves = [[v for v in start_and_best(row) if v is not None] for row in rows]
    curves = [curve for curve in curves if curve]
    if not curves:
        return []
    longest = max(len(curve) for curve in curves)
    found = (figures.geomean([curve[min(i, len(curve) - 1)] for curve in curves]) for i in range(longest))
    return [value for value in found if value is not None]


def best_chart(board: Board, link: Link, only: Row | None = None) -> dict[str, Any]:
    """Data and layout. ``link`` makes the address of a row's attempt."""
    rows = [only] if only is not None else board.rows
    eager = only.eager_gap if only is not None else board.eager_gap
    one = only is not None or len(rows) == 1
    data = _one(rows[0], link) if one and rows else _many(rows, link)
    seen = [y for trace in data for y in trace["y"] if y]
    layout = _layout(board, seen, eager)
    summary = _summary(rows, one)
    if summary is not None:
        layout["annotations"].append(summary)
    return {"data": data, "layout": layout}


def _one(row: Row, link: Link) -> list[dict[str, Any]]:
    curve = start_and_best(row)
    x = [i for i, value in enumerate(curve) if value is not None]
    data = [_line(x, [curve[i] for i in x], "--ink", 2.25)]
    sol = row.trajectory.sol_s
    points = [
        (float(step.number), step.time_s / sol, link(row, step.number),
         f"#{step.number} passed, {figures.ratio(step.time_s / sol)} of SOL")
        for step in row.steps
        if step.time_s is not None and sol
    ]  # fmt: skip
    best = min(points, key=lambda point: point[1], default=None)
    data.append(_points([p for p in points if p is not best], "--ctl", 8, hollow=True))
    if best is not None:
        address, sentence = best[2], best[3].replace("passed", "best")
        data.append(_points([(best[0], best[1], address, sentence)], "--ink", 10, hollow=False))
    return data


def _many(rows: Sequence[Row], link: Link) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = []
    ends: dict[bool, list[tuple[float, float, str, str]]] = {True: [], False: []}
    for row in rows:
        curve = start_and_best(row)
        x = [i for i, value in enumerate(curve) if value is not None]
        if x:
            data.append({**_line(x, [curve[i] for i in x], "--ctl", 1), "opacity": 0.5})
        if row.gap is not None and row.trajectory.best is not None:
            name = f"{row.trajectory.problem.slug} {row.trajectory.problem.name}"
            number = row.trajectory.best.number
            sentence = f"{name}, best #{number}: {figures.ratio(row.gap)} of SOL"
            ends[row.near].append((float(len(row.ended)), row.gap, link(row, number), sentence))
    data.append(_points(ends[False], "--ink-3", 7, hollow=True))
    data.append(_points(ends[True], "--sol", 7, hollow=False))
    thick = geomean_line(rows)
    data.append(_line(range(len(thick)), thick, "--ink", 2.25))
    if thick:
        end = _points([(float(len(thick) - 1), thick[-1], "", "geomean")], "--ink", 9, hollow=False)
        data.append({**end, "hoverinfo": "skip", "hovertemplate": None})
    return data


def _summary(rows: Sequence[Row], one: bool) -> dict[str, Any] | None:
    curve = geomean_line(rows)
    if not curve or not any(row.gap is not None for row in rows):
        return None
    word = "best" if one else "geomean"
    return {
        "x": len(curve) - 1, "y": math.log10(curve[-1]), "xanchor": "left", "yanchor": "bottom", "xshift": 8,
        "text": f"<b>{word} {figures.ratio(curve[-1])}</b>", "showarrow": False,
        "font": {"color": "--ink", "size": 11},
    }  # fmt: skip


def _label(y: float, text: str, colour: str, anchor: str = "middle") -> dict[str, Any]:
    return {
        "xref": "paper", "x": 1, "xanchor": "left", "xshift": 8, "y": math.log10(y), "yanchor": anchor, "text": text,
        "showarrow": False, "font": {"color": colour, "size": 11}, "align": "left",
    }  # fmt: skip


def _across(y0: float, y1: float | None, colour: str, dash: str = "solid") -> dict[str, Any]:
    if y1 is None:
        return {
            "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y0, "y1": y0, "layer": "between",
            "line": {"color": colour, "width": 1.75, "dash": dash},
        }  # fmt: skip
    return {
        "type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": y0, "y1": y1, "layer": "below", "fillcolor": colour,
        "line": {"width": 0},
    }  # fmt: skip


def _layout(board: Board, seen: Sequence[float], eager: float | None) -> dict[str, Any]:
    top = max([*seen, eager or 1.0, 4.0])
    low = min([*seen, 1.0])
    first, last = math.floor(math.log2(low * 0.75)), math.ceil(math.log2(top * 1.05))
    powers = list(range(first, last + 1))
    step = max(1, math.ceil(len(powers) / 8))
    ticks = [2.0**power for power in powers if power % step == 0]
    near = 1 + board.epsilon
    shapes = [
        _across(2.0**first, 1.0, "--bg-1"),
        _across(1.0, near, "--sol-bg"),
        _across(1.0, None, "--sol"),
    ]
    notes = [
        _label(1.0, "SOL 1×", "--sol", "top"),
        _label(near, f"near SOL to {figures.ratio(near)}", "--sol", "bottom"),
    ]
    if eager is not None:
        shapes.append(_across(eager, None, "--base", "5px,4px"))
        crowded = abs(math.log2(eager / near)) < (last - first) * 0.07
        notes.append(_label(eager * (1.18 if crowded else 1), f"eager {figures.ratio(eager)}", "--base",
                            "bottom" if crowded else "middle"))  # fmt: skip
    grid = {"gridcolor": "--line", "zeroline": False, "showline": False, "fixedrange": True}
    font = {"size": 11, "color": "--ink-2", "family": "--sans"}
    return {
        "template": "none", "font": font, "paper_bgcolor": "--bg", "plot_bgcolor": "--bg", "shapes": shapes,
        "annotations": notes, "margin": {"l": 40, "r": 122, "t": 10, "b": 40}, "height": 280, "hovermode": "closest",
        "uirevision": f"run-{board.run.pk}", "dragmode": False, "showlegend": False,
        "hoverlabel": {"bgcolor": "--bg", "bordercolor": "--ctl", "font": font},
        "xaxis": {
            **grid, "showgrid": False, "showline": True, "linecolor": "--line-2", "range": [0, board.run.attempts],
            "title": {"text": f"attempts on each problem, of {board.run.attempts}", "font": font, "standoff": 8},
            "tickformat": "d", "nticks": 7, "tickfont": font,
        },
        "yaxis": {
            **grid, "type": "log", "range": [math.log10(2.0**first), math.log10(2.0**last)], "tickvals": ticks,
            "ticktext": [f"{tick:g}×" for tick in ticks], "tickfont": font,
        },
    }  # fmt: skip
