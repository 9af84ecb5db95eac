"""The sparkline: one problem's best time over SOL by attempt, in 64 by 28 pixels. Coordinates only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from runs import figures

WIDTH, HEIGHT = 64, 28
SOL_Y = 22.0
TOP = 4.0
DOUBLINGS = 6.0


def _y(ratio: float) -> float:
    """1× lies on the SOL line, 64× at the top; under SOL there is room for half a doubling."""
    step = (SOL_Y - TOP) / DOUBLINGS
    return round(min(max(SOL_Y - math.log2(ratio) * step, 2.0), HEIGHT - 2.0), 1)


def spark(best: Sequence[float | None], budget: int, start: float | None) -> dict[str, Any] | None:
    """A step line. ``best[i]`` is best over SOL after attempt i + 1; ``start`` is eager over SOL, before any."""
    values = [start, *best]
    known = [value for value in values if value]
    if not known:
        return None
    step = (WIDTH - 2) / max(budget, len(best), 1)
    path, last, y = "", None, 0.0
    for index, value in enumerate(values):
        if not value:
            continue
        x = round(1 + index * step, 1)
        if value != last:
            y = _y(value)
        path += f"M{x} {y}" if last is None else f"H{x}V{y}"
        last = value
    path += f"H{round(1 + len(best) * step + 0.5, 1)}"
    label = f"best so far after {figures.counted(len(best), 'attempt')}: {figures.ratio(known[-1])} of SOL"
    return {"path": path, "label": label, "width": WIDTH, "height": HEIGHT, "sol": SOL_Y}
