"""Fast_p(r), the share of a run's problems at r× torch eager or more, and the share that got there within k attempts.

A problem without a kernel that counts is not reached at any r; all problems of the run are in the share. The page's
script moves r: ``reach`` holds what it needs, and the traces and labels that it moves are named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from runs import figures
from runs.charts import template as t
from runs.charts.tables import Column, Row, Table
from runs.readings import Reading

LOWEST = -2
"""The axis begins at 2**-2 or where the slowest kernel is, whichever is higher, and at 1× at the latest."""
HIGHEST = 10
AT = (0.5, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0, 10.0, 16.0, 32.0, 64.0)
"""Ratios of the table."""


def speedups(readings: Sequence[Reading]) -> list[float]:
    """The best kernel's speedup of each problem that has one, highest first."""
    return sorted((one.speedup for one in readings if one.speedup is not None), reverse=True)


def fast_p(readings: Sequence[Reading], r: float) -> float | None:
    """The share of problems at r× or more; None of no problem."""
    if not readings:
        return None
    return sum(value >= r for value in speedups(readings)) / len(readings)


def attempt_fast_p(readings: Sequence[Reading], r: float, attempts: int) -> float | None:
    """The share of problems that had a best at r× or more within ``attempts`` attempts; None of no problem."""
    return _share_within([one.reaches(r) for one in readings], attempts) if readings else None


def _share_within(reaches: Sequence[float], attempts: int) -> float:
    return sum(k <= attempts for k in reaches) / len(reaches)


def axis_of(readings: Sequence[Reading]) -> tuple[int, int]:
    """Powers of two at the ends of the axis of r."""
    first, last = t.octaves([*speedups(readings), *(s for one in readings for _, s in one.reached)], 1.0, 4.0)
    return max(first, LOWEST), min(last, HIGHEST)


def signed_area(before: Sequence[Reading], after: Sequence[Reading]) -> float | None:
    """∫ from 1 to ∞ of (Fast_p after − Fast_p before) d log2 r: doublings won on the mean problem.

    Equal to mean(log2 max(1, s after)) − mean(log2 max(1, s before)), a problem without a kernel at 1×: the baseline
    would be kept. The same problems on both sides; None of no problem.
    """
    if not before or len(before) != len(after):
        return None

    def mean(readings: Sequence[Reading]) -> float:
        return sum(math.log2(max(1.0, one.speedup or 1.0)) for one in readings) / len(readings)

    return mean(after) - mean(before)


def curve(readings: Sequence[Reading], ends: tuple[int, int], colour: str, dash: str = "solid") -> t.Trace:
    """The falling step line over the whole axis: at a speedup that occurs its problem still counts, behind it not."""
    low, high = 2.0 ** ends[0], 2.0 ** ends[1]
    of = max(len(readings), 1)
    found = speedups(readings)
    x, y = [low], [sum(value >= low for value in found) / of]
    for index in range(len(found) - 1, -1, -1):
        if low <= found[index] <= high:
            x.append(found[index])
            y.append((index + 1) / of)
            x.append(found[index])
            y.append(index / of)
    return t.line([*x, high], [*y, y[-1]], colour, 2.25, dash=dash)


def share_words(name: str, r: float, reached: int, of: int) -> str:
    """Fast_p(8.00×) = 68.8 %, 11 of 16."""
    return f"{name}({figures.ratio(r)}) = {figures.percent(reached / of)}, {reached} of {of}"


def rises_of(readings: Sequence[Reading]) -> list[list[list[float]]]:
    """(k, speedup) of every rise on each problem, highest speedups to two decimals more than the page shows."""
    return [[[k, round(s, 4)] for k, s in one.reached] for one in readings if one.reached]


def share_axis() -> dict[str, Any]:
    """0 to 100 %."""
    return {
        "range": [0, 1.02],
        "tickvals": [0, 0.25, 0.5, 0.75, 1],
        "ticktext": ["0", "25 %", "50 %", "75 %", "100 %"],
    }


def fast_p_chart(readings: Sequence[Reading], r: float) -> t.Figure:
    """The curve with a line at r and what is reached there."""
    ends = axis_of(readings)
    reached = sum(value >= r for value in speedups(readings))
    of = max(len(readings), 1)
    at = t.ticks([t.Point(r, reached / of, "", "")], t.BEST)
    data = [curve(readings, ends, "--ink"), {**at, "name": "at r"}] if readings else []
    words = share_words("Fast_p", r, reached, len(readings)) if readings else ""
    side = "right" if math.log2(r) > sum(ends) / 2 else "left"
    layout = {
        "height": 220, "margin": {"l": 44, "r": 18, "t": 22, "b": 42},
        "shapes": [{**t.across("x", r, "--line-2"), "name": "r"}],
        "annotations": [
            t.note(f"<b>{words}</b>", "--ink", x=math.log10(r), yref="paper", y=1, xanchor=side,
                   yanchor="bottom", name="r"),
        ],
        "xaxis": {**t.doublings(*ends, 7), "title": {"text": "r, speedup over torch eager"}},
        "yaxis": share_axis(),
    }  # fmt: skip
    reach = {"of": len(readings), "speedups": speedups(readings), "ends": list(ends)}
    return t.figure(data, layout, reach=reach)


def attempt_fast_p_chart(readings: Sequence[Reading], r: float, attempts: int) -> t.Figure:
    """The share that reached r× by attempt, from 0 to the run's limit."""
    x = [0, *range(1, attempts + 1)]
    reaches = [one.reaches(r) for one in readings]
    y = [_share_within(reaches, k) if reaches else 0.0 for k in x]
    data = [{**t.line(x, y, "--ink", 2.25, steps=True), "name": "reached"}] if readings else []
    reached, of = round(y[-1] * len(readings)), len(readings)
    words = f"{reached} of {of} reached {figures.ratio(r)}" if readings else ""
    layout = {
        "height": 220, "margin": {"l": 44, "r": 18, "t": 22, "b": 42}, "shapes": [],
        "annotations": [
            t.note(f"<b>{words}</b>", "--ink", xref="paper", x=1, yref="paper", y=1, xanchor="right",
                   yanchor="bottom", name="r"),
        ],
        "xaxis": {
            **t.whole(max(attempts, 1)), "title": {"text": "attempts on each problem"},
        },
        "yaxis": share_axis(),
    }  # fmt: skip
    return t.figure(data, layout, reach={"of": len(readings), "attempts": attempts, "rises": rises_of(readings)})


def fast_p_table(readings: Sequence[Reading], r: float) -> Table:
    """The share at some round ratios, at r, and at every speedup that occurs (in files)."""
    of = len(readings)
    found = speedups(readings)
    rows = []
    for value in sorted({*AT, r, *found}):
        reached = sum(s >= value for s in found)
        share = reached / of if of else None
        rows.append(Row((value, reached, of, share), aside=value not in AT and value != r))
    columns = (
        Column("r", "r", "times"), Column("reached", "Problems at r or more", "count"),
        Column("problems", "Of", "count"), Column("fast_p", "Fast_p(r)", "share", "no problem"),
    )  # fmt: skip
    return Table("Share of problems at r× torch eager or more", columns, rows)


def attempt_fast_p_table(readings: Sequence[Reading], r: float, attempts: int) -> Table:
    """The share that reached r× within k attempts, k from 1."""
    of = len(readings)
    rows = []
    for k in range(1, attempts + 1):
        share = attempt_fast_p(readings, r, k)
        rows.append(Row((k, r, round((share or 0.0) * of), of, share)))
    columns = (
        Column("attempts", "Attempts", "count"), Column("r", "r", "times"), Column("reached", "Reached r", "count"),
        Column("problems", "Of", "count"), Column("attempt_fast_p", "Share", "share", "no problem"),
    )  # fmt: skip
    return Table("Share of problems that reached r× within k attempts", columns, rows)
