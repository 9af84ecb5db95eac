"""The gap strip: one row's distance to the speed of light, 0.5× to 64× on a log axis. Coordinates only."""

from __future__ import annotations

import math
from typing import Any

from runs import figures

LOW, HIGH = 0.5, 64.0
HEIGHT = 28
EDGE = 4.0
TICKS = (4, 16, 64)


def place(ratio: float, width: int) -> float:
    """Where a multiple of SOL lies, in pixels; beyond the ends it is clamped."""
    clamped = min(max(ratio, LOW), HIGH)
    share = math.log2(clamped / LOW) / math.log2(HIGH / LOW)
    return round(EDGE + share * (width - 2 * EDGE), 1)


def strip(
    sol_s: float | None, best_s: float | None, eager_s: float | None, width: int = 168
) -> dict[str, Any] | None:
    """Coordinates and the sentence that says the same; None without a bound."""
    if not sol_s:
        return None
    words = [f"SOL {figures.milliseconds_with_unit(sol_s)}"]
    found: dict[str, Any] = {"width": width, "height": HEIGHT, "sol": place(1, width)}
    if eager_s:
        found["eager"] = place(eager_s / sol_s, width)
        found["eager_over"] = eager_s / sol_s > HIGH
        words.append(f"eager {figures.milliseconds_with_unit(eager_s)}")
    if best_s:
        gap = best_s / sol_s
        found["best"] = place(gap, width)
        found["best_over"] = gap > HIGH or gap < LOW
        found["gap_from"], found["gap_to"] = sorted((found["sol"], found["best"]))
        words.insert(0, f"best {figures.milliseconds_with_unit(best_s)}, {figures.ratio(gap)} of SOL")
    else:
        words.insert(0, "no passing kernel")
    if eager_s:
        found["won_from"], found["won_to"] = sorted((found.get("best", found["sol"]), found["eager"]))
    found["label"] = ", ".join(words)
    return found


def head(width: int = 168) -> dict[str, Any]:
    """The axis above a column of strips."""
    ticks = [{"x": place(tick, width), "text": f"{tick}×", "end": tick == HIGH} for tick in TICKS]
    return {"width": width, "height": HEIGHT, "sol": place(1, width), "ticks": ticks}
