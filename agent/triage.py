"""Which idea is worth an attempt: expected return on investment, bolder far from the speed of light.

ROI(h) = S(h)^(1 + max(0, log10(g / 5))) / (R_impl(h) · R_perf(h)), the original system's formula: S the expected
speedup of the whole program, R the two risks as multipliers of at least 1, g the gap to SOL.
"""

from __future__ import annotations

import math

GAP_AT_REST = 5.0
"""Up to this gap a speedup counts as it is; beyond it ambitious ideas weigh more."""


def roi(speedup: float, implementation_risk: float, performance_risk: float, gap: float | None) -> float:
    """The return of an idea; ``gap`` is None before anything was measured. Raises ValueError on a risk below 1."""
    if implementation_risk < 1 or performance_risk < 1:
        raise ValueError("a risk is a multiplier of at least 1")
    if speedup <= 0:
        raise ValueError("a speedup is a positive ratio")
    ambition = 0.0 if gap is None or gap <= GAP_AT_REST else math.log10(gap / GAP_AT_REST)
    return float(speedup ** (1 + ambition)) / (implementation_risk * performance_risk)
