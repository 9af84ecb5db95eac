"""The distribution of one kernel's timed calls, with its quartiles. Coordinates only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from runs import figures

WIDTH, BASE, TOP = 392, 102.0, 26.0
EDGE = 6.0


def histogram(samples: Sequence[float], median: float, q1: float, q3: float) -> dict[str, Any] | None:
    """Bars over [fastest, slowest], about the square root of the count of them; None of fewer than 2 samples."""
    if len(samples) < 2:
        return None
    low, high = min(samples), max(samples)
    if high <= low:
        low, high = low * 0.99, high * 1.01
    bins = min(30, max(8, round(math.sqrt(len(samples)) * 2)))
    counts = [0] * bins
    for sample in samples:
        counts[min(bins - 1, int((sample - low) / (high - low) * bins))] += 1
    room = (WIDTH - 2 * EDGE) / bins
    unit = (BASE - TOP) / max(counts)

    def x(value: float) -> float:
        return round(EDGE + (value - low) / (high - low) * (WIDTH - 2 * EDGE), 1)

    bars = [
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
    middle = x(median)
    label = (
        f"{figures.counted(len(samples), 'timed call')}: median {figures.milliseconds_with_unit(median)}, quartiles "
        f"{figures.milliseconds(q1)} and {figures.milliseconds_with_unit(q3)}, "
        f"slowest {figures.milliseconds_with_unit(max(samples))}"
    )
    ticks = [
        {"x": EDGE, "text": figures.milliseconds(low), "anchor": "start"},
        {"x": WIDTH / 2, "text": figures.milliseconds((low + high) / 2), "anchor": "middle"},
        {"x": WIDTH - EDGE, "text": figures.milliseconds_with_unit(high), "anchor": "end"},
    ]
    return {
        "width": WIDTH, "bars": bars, "base": BASE, "top": TOP, "median": middle, "ticks": ticks, "label": label,
        "iqr": (x(max(q1, low)), round(x(min(q3, high)) - x(max(q1, low)), 1)),
        "median_anchor": "start" if middle < WIDTH / 2 else "end",
        "median_x": middle + 6 if middle < WIDTH / 2 else middle - 6,
        "median_text": f"median {figures.milliseconds_with_unit(median)}",
    }  # fmt: skip
