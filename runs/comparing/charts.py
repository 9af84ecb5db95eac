"""What the charts of both kinds of comparison share: what one is, and how several lines are told apart without hue.

A line has its letter on it, its own dashes and its own grey; the baseline's is thick, solid ink.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from runs.charts import template as t
from runs.charts.tables import Table

Seen = TypeVar("Seen")
STYLES = (
    ("--ink", "solid"),
    ("--ink-2", "7px,3px"),
    ("--ink-2", "2px,2px"),
    ("--ink-3", "solid"),
    ("--ink-3", "9px,3px,2px,3px"),
    ("--ink-3", "1px,4px"),
)
"""Colour and dashes of A, B, C … in this order; the page draws a sample of each beside its name."""
_AWAY = 0.15


@dataclass(frozen=True)
class Chart(Generic[Seen]):
    """One chart. ``says`` is what its head says beside the title; ``describes`` is its label for screen readers."""

    key: str
    title: str
    says: str
    describes: str
    figure: Callable[[Seen], t.Figure]
    table: Callable[[Seen], Table]


def letters(
    curves: Sequence[tuple[str, str, Sequence[float]]], xs: Sequence[float], log: bool
) -> list[dict[str, Any]]:
    """A label on each curve, where it is farthest from the others. ``curves``: letter, colour, its y at each x."""
    taken: list[int] = []
    notes = []
    for index, (letter, colour, ys) in enumerate(curves):
        others = [one for at, (_, _, one) in enumerate(curves) if at != index]

        def room(at: int, ys: Sequence[float] = ys, others: Sequence[Sequence[float]] = others) -> float:
            alone = min((abs(ys[at] - other[at]) for other in others), default=1.0)
            spread = min((abs(at - other) / len(xs) for other in taken), default=1.0)
            return min(alone, _AWAY) + min(spread, _AWAY)

        best = max(range(1, len(xs) - 1), key=room)
        taken.append(best)
        x = math.log10(xs[best]) if log else xs[best]
        notes.append(
            t.note(f"<b>{letter}</b>", colour, x=x, y=ys[best], bgcolor="--bg", borderpad=1, xanchor="center",
                   yanchor="middle"),
        )  # fmt: skip
    return notes


def thick(trace: t.Trace, index: int) -> t.Trace:
    """The baseline's line stands out."""
    return {**trace, "line": {**trace["line"], "width": 2.75 if index == 0 else 2}}
