"""What of a call's time no kernel accounts for, from an evaluation's own figures. Nothing of a profile enters here:
a time under the profiler is no time of the candidate."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.harness.evaluation import Timing


@dataclass(frozen=True, slots=True)
class Overhead:
    """Seconds of one call: its median by events, what kernels, copies and fills take, and the gaps between them.

    ``gap_s`` may be a little under zero where kernels run side by side, or slower under the record of them.
    """

    call_s: float
    kernels_s: float
    launches: float

    @property
    def gap_s(self) -> float:
        """Call less kernels."""
        return self.call_s - self.kernels_s

    @property
    def share(self) -> float:
        """The gap's share of the call; 0 where kernels take all of it."""
        return max(self.gap_s, 0.0) / self.call_s


def overhead(timing: Timing | None) -> Overhead | None:
    """Launch overhead of a timed subject; None where its kernels were not recorded."""
    if timing is None or timing.activity is None or not timing.activity.kernels or timing.median_s <= 0:
        return None
    return Overhead(timing.median_s, timing.activity.sum_s, timing.activity.launches)
