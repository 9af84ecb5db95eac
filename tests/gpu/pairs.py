"""Two calls timed against each other on a card: single calls in turn, each with the L2 cache flushed before it.

Taken in turn, both see the same clocks and the same heat; what counts is their ratio, times are told beside it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ROUNDS = 40
WARMUP = 5
_FLUSH_BYTES = 2**30
"""More than the L2 of any card (50 MB on an H100), so that operands come from memory; and a quarter of a millisecond of
reading, so that either call is launched before it is over: a ratio of kernels, not of launches."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Median times in milliseconds, and the median over rounds of baseline time / our time."""

    ours_ms: float
    baseline_ms: float
    ratio: float


class Clock:
    """Times calls on the current CUDA stream."""

    def __init__(self) -> None:
        import torch

        from kernels.harness.l2 import Flush

        self._cuda = torch.cuda
        self._flush = Flush(_FLUSH_BYTES)

    def ms(self, call: Callable[[], Any]) -> float:
        """One call, in milliseconds."""
        start, end = (self._cuda.Event(enable_timing=True) for _ in range(2))
        self._flush()
        start.record()
        call()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end))

    def pair(self, ours: Callable[[], Any], baseline: Callable[[], Any], rounds: int = ROUNDS) -> Pair:
        """Both calls in turn, ``rounds`` times."""
        for _ in range(WARMUP):
            ours()
            baseline()
        samples = [(self.ms(ours), self.ms(baseline)) for _ in range(rounds)]
        return Pair(
            ours_ms=statistics.median(mine for mine, _ in samples),
            baseline_ms=statistics.median(other for _, other in samples),
            ratio=statistics.median(other / mine for mine, other in samples),
        )
