"""What all Plotly charts share: one template, and the few kinds of traces, shapes and labels they are made of.

Colours are names of the style sheet's tokens ("--ink"); the page's script puts the theme's colours in their place. An
annotation's ``narrow`` says what changes below 560 pixels, False that it is left out there; a figure's ``narrow`` is
laid over its layout. Meaning never rests on colour alone: filled best, hollow others, squares for several attempts in
one mark, hollow diamonds for what is held and filled ones for settled hacks, dashes for baselines, dots for the floor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

Figure = dict[str, Any]
Trace = dict[str, Any]
Address = Callable[[str, int], str]
"""A candidate's address from its problem's slug and its number."""

_FEW = 6
FONT = {"size": 11, "color": "--ink-2", "family": "--sans"}
_AXIS = {
    "gridcolor": "--line", "zeroline": False, "showline": False, "fixedrange": True, "tickfont": FONT,
    "title": {"font": FONT, "standoff": 8}, "automargin": False,
}  # fmt: skip
TEMPLATE: dict[str, Any] = {
    "layout": {
        "font": FONT, "paper_bgcolor": "--bg", "plot_bgcolor": "--bg", "margin": {"l": 44, "r": 122, "t": 10, "b": 40},
        "hovermode": "closest", "dragmode": False, "showlegend": False, "xaxis": _AXIS, "yaxis": _AXIS,
        "hoverlabel": {"bgcolor": "--bg", "bordercolor": "--ctl", "font": FONT, "align": "left"},
    },
    "data": {"scatter": [{"showlegend": False, "cliponaxis": False}]},
}  # fmt: skip


class Point(NamedTuple):
    """One mark: where it lies, what it opens ("" for nothing) and the sentence that says it."""

    x: float
    y: float
    address: str
    sentence: str


class Kind(NamedTuple):
    """How a kind of mark looks."""

    symbol: str
    colour: str
    size: float


BEST = Kind("circle", "--ink", 9)
NEAR = Kind("circle", "--sol", 7)
END = Kind("circle-open", "--ink-3", 7)
OTHER = Kind("circle-open", "--ctl", 6)
SEVERAL = Kind("square-open", "--ctl", 7)
HELD = Kind("diamond-open", "--severe", 9)
HACKED = Kind("diamond", "--severe", 9)


def whole(most: int) -> dict[str, Any]:
    """An axis of whole numbers from 0 to ``most``: about seven ticks, and none between two numbers."""
    return {
        "range": [0, most], "showgrid": False, "showline": True, "linecolor": "--line-2", "tickformat": "d",
        **({"nticks": 7} if most > _FEW else {"dtick": 1}),
    }  # fmt: skip


def marks(points: Sequence[Point], kind: Kind) -> Trace:
    """Points that can be focused and opened: ``customdata`` holds each one's address and sentence."""
    hollow = kind.symbol.endswith("-open")
    return {
        "type": "scatter", "mode": "markers", "x": [p.x for p in points], "y": [p.y for p in points],
        "customdata": [[p.address, p.sentence] for p in points], "hovertemplate": "%{customdata[1]}<extra></extra>",
        "marker": {
            "symbol": kind.symbol, "size": kind.size, "color": kind.colour,
            "line": {"width": 1.5 if hollow else 1, "color": kind.colour if hollow else "--bg"},
        },
    }  # fmt: skip


def ticks(points: Sequence[Point], kind: Kind) -> Trace:
    """Marks that only say where something is: no pointer, no key."""
    drawn = {key: value for key, value in marks(points, kind).items() if key not in ("customdata", "hovertemplate")}
    return {**drawn, "hoverinfo": "skip"}


def line(
    x: Sequence[float | None], y: Sequence[float | None], colour: str, width: float, *,
    dash: str = "solid", steps: bool = False,
) -> Trace:  # fmt: skip
    """A line; None on both axes lifts the pen. ``steps``: it goes across and then down."""
    look = {"color": colour, "width": width, "dash": dash, "shape": "hv" if steps else "linear"}
    return {
        "type": "scatter", "mode": "lines", "x": list(x), "y": list(y), "hoverinfo": "skip", "line": look,
        "connectgaps": False,
    }  # fmt: skip


def across(axis: str, at: float, colour: str, dash: str = "solid") -> dict[str, Any]:
    """A rule over the whole plot at one value of the axis ("x" or "y")."""
    other = "y" if axis == "x" else "x"
    return {
        "type": "line", f"{other}ref": "paper", f"{other}0": 0, f"{other}1": 1, f"{axis}0": at, f"{axis}1": at,
        "layer": "between", "line": {"color": colour, "width": 1.75, "dash": dash},
    }  # fmt: skip


def band(axis: str, low: float, high: float, colour: str) -> dict[str, Any]:
    """A tinted ground between two values of the axis."""
    other = "y" if axis == "x" else "x"
    return {
        "type": "rect", f"{other}ref": "paper", f"{other}0": 0, f"{other}1": 1, f"{axis}0": low, f"{axis}1": high,
        "layer": "below", "fillcolor": colour, "line": {"width": 0},
    }  # fmt: skip


def note(text: str, colour: str = "--ink-2", **place: Any) -> dict[str, Any]:
    """A label without an arrow; coordinates of a logarithmic axis are powers of ten."""
    return {"text": text, "showarrow": False, "font": {"color": colour, "size": 11}, "align": "left", **place}


def apart(notes: Sequence[dict[str, Any]], pixels: float, least: float = 13) -> None:
    """Shift labels of one column up where they would lie on each other. ``pixels``: of one unit of their y."""
    taken = -math.inf
    for label in sorted(notes, key=lambda one: float(one["y"])):
        place = float(label["y"]) * pixels
        label |= {"yanchor": "middle", "yshift": max(0.0, round(taken + least - place, 1))}
        taken = place + label["yshift"]


def octaves(values: Iterable[float], low: float = 1.0, high: float = 4.0) -> tuple[int, int]:
    """The powers of two between which all values lie with a little room; ``low`` and ``high`` lie there too."""
    seen = [value for value in values if value > 0]
    lowest, highest = min([*seen, low]), max([*seen, high])
    return math.floor(math.log2(lowest * 0.95)), math.ceil(math.log2(highest * 1.05))


def doublings(first: int, last: int, most: int = 8) -> dict[str, Any]:
    """A base-2 logarithmic axis from 2**first to 2**last with at most ``most`` + 1 labels, 1× among them."""
    step = max(1, math.ceil((last - first + 1) / most))
    values = [2.0**power for power in range(first, last + 1) if power % step == 0]
    return {
        "type": "log", "range": [math.log10(2.0**first), math.log10(2.0**last)], "tickvals": values,
        "ticktext": [f"{value:g}×" if value >= 0.1 else f"1/{1 / value:g}×" for value in values],
    }  # fmt: skip


def plain(text: str) -> str:
    """Text that Plotly would read as markup, with its signs escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def short(text: str, most: int) -> str:
    """A name that is cut at its end, escaped."""
    return plain(text if len(text) <= most else f"{text[: most - 1]}…")


def figure(data: Sequence[Trace], layout: dict[str, Any], **further: Any) -> Figure:
    """Data and layout under the shared template. Empty traces are left out."""
    return {"data": [trace for trace in data if trace["x"]], "layout": {"template": TEMPLATE, **layout}, **further}
