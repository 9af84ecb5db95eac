"""How a problem's record fell over time on a card, over SOL, as a Plotly figure of plain dicts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from runs import figures
from runs.browser.records import Told
from runs.charts import template as t

_RIGHT = {"xref": "paper", "x": 1, "xanchor": "left", "xshift": 8}
_INSIDE = {"xanchor": "right", "xshift": -2, "yanchor": "bottom"}


def record_chart(told: Sequence[Told], now: datetime) -> t.Figure:
    """A step line of best time over SOL by day, each record a point; times without a bound are over the last one."""
    last = next((one.sol_s for one in reversed(told) if one.sol_s), None)
    if last is None or not told:
        return t.figure([], _layout([], None, []))
    points = [_point(one, one.time_s / (one.sol_s or last)) for one in told]
    best = points[-1]
    line: dict[str, Any] = t.line([], [], "--ink", 2.25, steps=True)
    line |= {"x": [*(p["x"] for p in points), _day(now)], "y": [*(p["y"] for p in points), best["y"]]}
    eager = told[-1].eager_s / (told[-1].sol_s or last) if told[-1].eager_s else None
    data = [line, _marks(points[:-1], t.OTHER._replace(size=8)), _marks(points[-1:], t.BEST._replace(size=10))]
    return t.figure(data, _layout([p["y"] for p in points], eager, points), narrow={"margin": {"l": 44, "r": 12}})


def _day(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S")


def _point(one: Told, ratio: float) -> dict[str, Any]:
    when = one.at.strftime("%Y-%m-%d")
    sentence = f"r-{one.run_id} #{one.number} by {one.owner}, {when}: "
    sentence += f"{figures.milliseconds_with_unit(one.time_s)}, {figures.ratio(ratio)} of SOL"
    return {"x": _day(one.at), "y": ratio, "address": one.address, "sentence": sentence}


def _marks(points: Sequence[dict[str, Any]], kind: t.Kind) -> t.Trace:
    found = t.marks([t.Point(0.0, p["y"], p["address"], p["sentence"]) for p in points], kind)
    return found | {"x": [p["x"] for p in points]}


def _layout(seen: Sequence[float], eager: float | None, points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first, last = t.octaves([*seen, eager or 1.0], 0.75, 4.0)
    shapes = [t.band("y", 2.0**first, 1.0, "--bg-1"), t.across("y", 1.0, "--sol")]
    notes = [t.note("SOL 1×", "--sol", y=0, **_RIGHT, narrow=_INSIDE)]
    if eager:
        shapes.append(t.across("y", eager, "--base", "5px,4px"))
        words = f"eager {figures.ratio(eager)}"
        notes.append(t.note(words, "--base", y=math.log10(eager), **_RIGHT, narrow=_INSIDE))
    if points:
        text = f"<b>record {figures.ratio(seen[-1])}</b>"
        notes.append(t.note(text, "--ink", y=math.log10(seen[-1]), **_RIGHT, narrow=_INSIDE))
    height = 240
    t.apart(notes, (height - 50) / (math.log10(2.0) * (last - first)))
    return {
        "shapes": shapes, "annotations": notes, "height": height,
        "xaxis": {"type": "date", "showgrid": False, "showline": True, "linecolor": "--line-2", "nticks": 6},
        "yaxis": t.doublings(first, last),
    }  # fmt: skip
