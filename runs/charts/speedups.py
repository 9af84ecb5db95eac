"""Speedup over torch eager against the fraction of the speed of light: is it fast, or was the baseline slow?

The SOL fraction is the bound over the time: 1 at the bound, a half at twice it. All attempts on one problem lie on a
line of slope one, whose place says how much headroom eager left. Both axes are logarithmic, base 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from runs import figures
from runs.charts import template as t
from runs.charts.clusters import Cluster, clusters
from runs.charts.tables import Column, Row, Table
from runs.readings import Reading, Step
from sol.bounds.score import SolScoreWithheld, sol_score
from sol.gap.standing import Held


def placed(readings: Sequence[Reading]) -> list[Reading]:
    """Problems with a bound."""
    return [one for one in readings if one.sol_s]


def fraction(one: Reading, step: Step) -> float:
    """SOL over the time."""
    return (one.sol_s or 0.0) / (step.time_s or math.inf)


def own_speedup(step: Step) -> float | None:
    """Torch eager over the attempt of the same call, also of one that is held."""
    return step.eager_s / step.time_s if step.eager_s and step.time_s else None


def speedups_chart(
    readings: Sequence[Reading], address: t.Address, merged: Sequence[Cluster] | None = None
) -> t.Figure:
    """Points: an attempt with its own eager time each. ``merged``: see ``clusters``."""
    rows = placed(readings)
    epsilon = rows[0].epsilon if rows else 0.25
    known = set(map(id, rows))
    parts = [part for part in (clusters(rows)[0] if merged is None else merged) if id(part.reading) in known]
    best = [Cluster(one, (one.best,)) for one in rows if one.best]
    held = [Cluster(one, (step,)) for one in rows for step in one.waiting]
    hacked = [Cluster(one, (step,)) for one in rows for step in one.hacked]
    groups = [
        (_points([part for part in parts if len(part.steps) == 1], address), t.OTHER),
        (_points([part for part in parts if len(part.steps) > 1], address), t.SEVERAL),
        (_points(best, address, "best "), t.BEST._replace(size=8)),
        (_points(held, address), t.HELD),
        (_points(hacked, address), t.HACKED),
    ]
    every = [point for points, _ in groups for point in points]
    first, last = t.octaves([point.x for point in every], 0.2, 1 + epsilon)
    low, high = t.octaves([point.y for point in every], 0.75, 2.0)
    axis = t.doublings(first, last, 7)
    layout = {
        "height": 320, "margin": {"l": 44, "r": 18, "t": 24, "b": 42},
        "shapes": [
            t.band("x", 1 / (1 + epsilon), 1.0, "--sol-bg"), t.band("x", 1.0, 2.0**last, "--bg-1"),
            t.across("x", 1.0, "--sol"), t.across("y", 1.0, "--base", "5px,4px"),
        ],
        "annotations": [
            t.note("SOL", "--sol", x=0, yref="paper", y=1, yanchor="bottom"),
            t.note("eager", "--base", xref="paper", x=0, xanchor="left", xshift=4, y=0, yanchor="bottom", narrow={}),
        ],
        "xaxis": {
            **axis, "ticktext": [figures.percent(value) for value in axis["tickvals"]],
            "title": {"text": "SOL fraction: bound ÷ time"},
        },
        "yaxis": t.doublings(low, high, 7),
    }  # fmt: skip
    return t.figure([t.marks(points, kind) for points, kind in groups], layout)


def _points(parts: Sequence[Cluster], address: t.Address, word: str = "") -> list[t.Point]:
    found = []
    for one, steps in parts:
        step = steps[0]
        speedup = own_speedup(step)
        if speedup is None:
            continue
        share = fraction(one, step)
        if len(steps) > 1:
            slowest = figures.percent(fraction(one, steps[-1]))
            sentence = (
                f"{one.title}: {len(steps)} attempts, {slowest} to {figures.percent(share)} of SOL; "
                f"the fastest is #{step.number}, {figures.ratio(speedup)} over eager"
            )
        else:
            words = one.told(step)
            sentence = (
                f"{one.title}, {word}#{step.number}: {figures.ratio(speedup)} over eager, "
                f"{figures.percent(share)} of SOL{f'; {words}' if words else ''}"
            )
        found.append(t.Point(share, speedup, address(one.slug, step.number), sentence))
    return found


_COLUMNS = (
    Column("problem", "Problem"),
    Column("attempt", "Attempt", "count"),
    Column("standing", "Counts as"),
    Column("time_s", "Time, ms", "ms"),
    Column("eager_s", "Eager, ms", "ms"),
    Column("speedup", "× eager", "times"),
    Column("sol_fraction", "SOL fraction", "share"),
    Column("sol_score", "SOL score", "number", "withheld"),
    Column("score_withheld", "Why no score", none="it has one"),
)


def speedups_table(readings: Sequence[Reading], address: t.Address) -> Table:
    """Each measured attempt; the page shows the best of each problem and those that do not count."""
    rows = []
    for one in placed(readings):
        for step in one.steps:
            if step.time_s is None:
                continue
            word = Held(step.held).word if step.held else "best" if step == one.best else "other"
            score, why = _score(one, step)
            values = (
                one.slug, step.number, word, step.time_s, step.eager_s, own_speedup(step), fraction(one, step),
                score, why,
            )  # fmt: skip
            rows.append(Row(values, address(one.slug, step.number), aside=word == "other"))
    return Table("Each problem's best attempt, and those that do not count", _COLUMNS, rows)


def _score(one: Reading, step: Step) -> tuple[float | None, str | None]:
    if step.held:
        return None, one.told(step)
    found = sol_score(step.time_s or math.nan, step.eager_s or math.nan, one.sol_s or math.nan)
    return (None, found.sentence) if isinstance(found, SolScoreWithheld) else (found, None)
