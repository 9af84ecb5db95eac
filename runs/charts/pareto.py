"""Stop policies of a replayed run as a Plotly figure: what each would save against what it would keep.

Every policy of the grid is a point, the front a stepped line; the original's named points carry their names, and the
chosen one is filled. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agent.pareto import KEEPS, NAMED, Outlook, Policy
from runs import figures
from runs.charts.template import Figure, Kind, Point, across, figure, line, marks, note

Link = Callable[[Policy], str]
CHOSEN = Kind("circle", "--ink", 11)
FRONT = Kind("circle", "--sol", 7)
DOMINATED = Kind("circle-open", "--ctl", 6)
NAME = Kind("square-open", "--base", 11)


def pareto(
    outlooks: Sequence[Outlook],
    front: frozenset[Policy],
    chosen: Policy,
    link: Link,
    words: Callable[[Policy], str],
) -> Figure:
    """Data and layout; ``link`` is where a policy is chosen. Policies that kept nothing known are left out."""
    known = [each for each in outlooks if each.retention is not None]
    best = sorted((each for each in known if each.policy in front), key=lambda each: each.saving)
    data = [
        marks([_point(each, link, words) for each in known if each.policy not in front], DOMINATED),
        line([100 * each.saving for each in best], [each.retention for each in best], "--sol", 1.75, steps=True),
        marks([_point(each, link, words) for each in best], FRONT),
        marks([_point(each, link, words) for each in known if each.policy in NAMED], NAME),
        marks([_point(each, link, words) for each in known if each.policy == chosen], CHOSEN),
    ]
    return figure(data, _layout(known, words), narrow={"margin": {"l": 44, "r": 12, "t": 10, "b": 40}})


def _point(each: Outlook, link: Link, words: Callable[[Policy], str]) -> Point:
    retention, gain = each.retention or 0.0, each.efficiency_gain
    saves, keeps = figures.percent(each.saving), figures.percent(retention)
    sentence = f"{words(each.policy)}: saves {saves} of {each.unit}, keeps {keeps}"
    if gain is not None:
        sentence += f", efficiency {figures.ratio(gain)}"
    return Point(100 * each.saving, retention, link(each.policy), sentence)


def _layout(known: Sequence[Outlook], words: Callable[[Policy], str]) -> dict[str, Any]:
    kept = [each.retention or 0.0 for each in known]
    low = max(0.0, min([*kept, 0.9]) - 0.03)
    unit = known[0].unit if known else "attempts"
    notes = [
        note(words(each.policy), "--base", x=100 * each.saving, y=each.retention, xanchor="left", yanchor="bottom",
             xshift=8, yshift=3)
        for each in known
        if each.policy in NAMED
    ]  # fmt: skip
    if low < KEEPS:
        keeps = f"keeps {figures.percent(KEEPS)}"
        notes.append(note(keeps, xref="paper", x=1, xanchor="left", xshift=8, y=KEEPS, yanchor="middle",
                          narrow={"xanchor": "right", "xshift": 0, "yanchor": "bottom"}))  # fmt: skip
    return {
        "height": 320, "shapes": [across("y", KEEPS, "--ctl", "5px,4px")] if low < KEEPS else [], "annotations": notes,
        "xaxis": {
            "title": {"text": f"{unit} saved, %"}, "range": [-2, 100], "showgrid": False, "showline": True,
            "linecolor": "--line-2", "ticksuffix": "",
        },
        "yaxis": {"range": [low, 1.02], "tickformat": ".0%"},
    }  # fmt: skip
