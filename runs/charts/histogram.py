"""The distribution of one kernel's timed calls, with its quartiles. Coordinates only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from runs import figures

WIDTH, BASE, TOP = 392, 102.0, 26.0
EDGE = 6.0


def histogram(samples: Sequence[float], median: float, q1: float, q3: float) -> dict[str, Any] | None:
    """Bars over [fastest, slowest]; None of fewer than 2 samples. Times in seconds."""
    if len(samples) < 2:
        return None
    low, high = min(samples), max(samples)
    if high <= low:
        low, high = low * 0.99, high * 1.01

    def x(value: float) -> float:
        inside = min(max(value, low), high)
        return round(EDGE + (inside - low) / (high - low) * (WIDTH - 2 * EDGE), 1)

    return {
        "width": WIDTH,
        "base": BASE,
        "top": TOP,
        "bars": _bars(samples, low, high),
        "iqr": (x(q1), round(x(q3) - x(q1), 1)),
        "ticks": [
            {"x": EDGE, "text": figures.milliseconds(low), "anchor": "start"},
            {"x": WIDTH / 2, "text": figures.milliseconds((low + high) / 2), "anchor": "middle"},
            {"x": WIDTH - EDGE, "text": figures.milliseconds_with_unit(high), "anchor": "end"},
        ],
        "label": _label(samples, median, q1, q3),
        **_median(median, x),
    }


def _bars(samples: Sequence[float], low: float, high: float) -> list[dict[str, float]]:
    """About twice the square root of the count of samples, 8 to 30 of them; empty ones are left out."""
    bins = min(30, max(8, round(math.sqrt(len(samples)) * 2)))
    counts = [0] * bins
    for sample in samples:
        counts[min(bins - 1, int((sample - low) / (high - low) * bins))] += 1
    room, unit = (WIDTH - 2 * EDGE) / bins, (BASE - TOP) / max(counts)
    return [
        {
            "x": round(EDGE + i * room, 1),
            "y": round(BASE - count * unit, 1),
            "w": round(room - 1, 1),
            "h": round(count * unit, 1),
            "count": count,
        }
        for i, count in enumerate(counts)
        if count
    ]


def _median(median: float, x: Callable[[float], float]) -> dict[str, Any]:
    """The median's line and its label, on the side with more room."""
    at = x(median)
    left = at < WIDTH / 2
    return {
        "median": at,
        "median_anchor": "start" if left else "end",
        "median_x": at + 6 if left else at - 6,
        "median_text": f"median {figures.milliseconds_with_unit(median)}",
    }


def _label(samples: Sequence[float], median: float, q1: float, q3: float) -> str:
    return (
        f"{figures.counted(len(samples), 'timed call')}: median {figures.milliseconds_with_unit(median)}, quartiles "
        f"{figures.milliseconds(q1)} and {figures.milliseconds_with_unit(q3)}, "
        f"slowest {figures.milliseconds_with_unit(max(samples))}"
    )
