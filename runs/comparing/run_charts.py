"""Runs over each other: Fast_p, Attempt-Fast_p and best so far, each run one line with its letter on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from runs.charts import template as t
from runs.charts.best import geomean_line
from runs.charts.fast_p import AT, axis_of, curve, fast_p, share_axis, speedups
from runs.charts.tables import Column, Row, Table
from runs.comparing.charts import STYLES, Chart, letters, thick
from runs.comparing.run_sides import RunSide
from runs.comparing.runs import RunsSeen

_POINTS = 40
_HEIGHT = 260
_R = 1.0


def fast_p_chart(seen: RunsSeen) -> t.Figure:
    """Share of the common problems at r× or more, of every run."""
    sides = seen.sides if seen.common.counted else ()
    ends = [axis_of(side.figures.readings) for side in sides]
    first, last = min((low for low, _ in ends), default=-1), max((high for _, high in ends), default=2)
    data = [thick(curve(side.figures.readings, (first, last), *STYLES[at]), at) for at, side in enumerate(sides)]
    xs = [2.0 ** (first + (last - first) * i / _POINTS) for i in range(_POINTS + 1)]
    drawn = [(side.letter, STYLES[at][0], [fast_p(side.figures.readings, x) or 0.0 for x in xs])
             for at, side in enumerate(sides)]  # fmt: skip
    layout = _layout(letters(drawn, xs, log=True))
    layout |= {"xaxis": {**t.doublings(first, last, 7), "title": {"text": "r, speedup over torch eager"}}}
    return t.figure(data, {**layout, "yaxis": share_axis()})


def attempt_fast_p_chart(seen: RunsSeen) -> t.Figure:
    """Share of the common problems that reached 1× within k attempts."""
    sides = seen.sides if seen.common.counted else ()
    xs = [float(k) for k in range(_most(seen) + 1)]
    drawn = [(side.letter, STYLES[at][0], [side.figures.attempt_fast(_R, int(k)) or 0.0 for k in xs])
             for at, side in enumerate(sides)]  # fmt: skip
    data = [_line(xs, ys, at) for at, (_, _, ys) in enumerate(drawn)]
    layout = {**_layout(letters(drawn, _middles(xs), log=False)), "xaxis": _attempts(seen), "yaxis": share_axis()}
    return t.figure(data, layout)


def best_chart(seen: RunsSeen) -> t.Figure:
    """Geomean of best so far over SOL by attempt; eager's before any, and where nothing passed."""
    xs = [float(k) for k in range(_most(seen) + 1)]
    curves = [(at, side, _best_line(side)) for at, side in enumerate(seen.sides)]
    known = [(at, side, line) for at, side, line in curves if line]
    data = [_line(xs, _until(line, len(xs)), at) for at, _, line in known]
    first, last = t.octaves([y for _, _, line in known for y in line], 0.75, 4.0)
    high = [(side.letter, STYLES[at][0], [math.log2(y) / (last - first) for y in _until(line, len(xs))])
            for at, side, line in known]  # fmt: skip
    notes = letters(high, _middles(xs), log=False)
    for note in notes:
        # A logarithmic axis takes powers of ten.
        note["y"] = note["y"] * (last - first) * math.log10(2.0)
    epsilon = seen.base.board.epsilon
    layout = _layout([*notes, t.note("SOL 1×", "--sol", xref="paper", x=1, xanchor="right", y=0, yanchor="bottom")])
    layout["shapes"] = [
        t.band("y", 2.0**first, 1.0, "--bg-1"), t.band("y", 1.0, 1 + epsilon, "--sol-bg"), t.across("y", 1.0, "--sol"),
    ]  # fmt: skip
    return t.figure(data, {**layout, "xaxis": _attempts(seen), "yaxis": t.doublings(first, last)})


def _line(xs: Sequence[float], ys: Sequence[float], at: int) -> t.Trace:
    colour, dash = STYLES[at]
    return thick(t.line(xs, ys, colour, 2, dash=dash, steps=True), at)


def _until(line: Sequence[float], count: int) -> list[float]:
    """A run whose problems have ended keeps its last value."""
    return [line[min(k, len(line) - 1)] for k in range(count)]


def _middles(xs: Sequence[float]) -> list[float]:
    """Where the treads of a step line have their middles."""
    return [x + 0.5 for x in xs]


def _best_line(side: RunSide) -> list[float]:
    return geomean_line([side.rows[slug] for slug in side.counted])


def _most(seen: RunsSeen) -> int:
    return max(2, *(side.run.attempts for side in seen.sides))


def _attempts(seen: RunsSeen) -> dict[str, Any]:
    return {**t.whole(_most(seen)), "title": {"text": "attempts on each problem"}}


def _layout(notes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"height": _HEIGHT, "margin": {"l": 44, "r": 18, "t": 16, "b": 42}, "shapes": [], "annotations": notes}


def _columns(seen: RunsSeen, what: str, kind: str) -> tuple[Column, ...]:
    return tuple(
        Column(f"{side.run}_{what}".replace("-", ""), side.name, kind, "no common problem") for side in seen.sides
    )


def fast_p_table(seen: RunsSeen) -> Table:
    """Every run's share at some round ratios, and at every speedup that occurs (in files)."""
    every = {value for side in seen.sides for value in speedups(side.figures.readings)}
    rows = [
        Row((r, *(fast_p(side.figures.readings, r) for side in seen.sides)), aside=r not in AT)
        for r in sorted({*AT, *every})
    ]
    columns = (Column("r", "r", "times"), *_columns(seen, "fast_p", "share"))
    return Table("Share of the common problems at r× torch eager or more", columns, rows)


def attempt_fast_p_table(seen: RunsSeen) -> Table:
    """Every run's share that reached 1× within k attempts."""
    rows = [Row((k, *(side.figures.attempt_fast(_R, k) for side in seen.sides))) for k in range(1, _most(seen) + 1)]
    columns = (Column("attempts", "Attempts", "count"), *_columns(seen, "attempt_fast_p", "share"))
    return Table("Share of the common problems that reached 1× torch eager within k attempts", columns, rows)


def best_table(seen: RunsSeen) -> Table:
    """Every run's geomean after k attempts; a run whose problems have all ended keeps its last value."""
    lines = [_best_line(side) for side in seen.sides]
    rows = [
        Row((k, *(line[min(k, len(line) - 1)] if line else None for line in lines))) for k in range(_most(seen) + 1)
    ]
    columns = (Column("attempts", "Attempts", "count"), *_columns(seen, "best_over_sol", "times"))
    return Table("Geomean of best over SOL after k attempts on each common problem", columns, rows)


RUN_CHARTS: dict[str, Chart[RunsSeen]] = {
    chart.key: chart
    for chart in (
        Chart(
            "fast-p", "Fast_p", "share of the common problems at r× torch eager or more",
            "Fast_p of every run on the common problems, by r", fast_p_chart, fast_p_table,
        ),
        Chart(
            "best", "Best so far over SOL", "geomean over the common problems, by attempt",
            "Geomean of best time over SOL of every run, by attempt", best_chart, best_table,
        ),
        Chart(
            "attempt-fast-p", "Attempt-Fast_p at 1×", "share that reached torch eager within k attempts",
            "Share of the common problems that reached torch eager, by attempts", attempt_fast_p_chart,
            attempt_fast_p_table,
        ),
    )
}  # fmt: skip
