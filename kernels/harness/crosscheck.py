"""The supervisor's own look at how long calls take: short runs of them back to back, each between two readings.

A block of single calls brackets a short call too loosely to tell when the child's clock is wrong by a factor; a run of
many does tell. On a CPU whose cores others want too, a run may take any time, so runs are short and many, the quickest
counts, and where other processes had a good part of the cores meanwhile, slow runs prove nothing. What the candidate
itself keeps busy is no excuse. It is a check of the child's times and gives no time itself. Runs only in the
supervisor.

On a card a run may also be slow because the host launches more slowly than the card works, as Python does with short
kernels. In a single call that is hidden by the flush ahead of it; so, where runs seem too slow, as many flushes as
calls go ahead of them, and their own time comes off. Behind those the card has the calls' work in hand, one after the
other.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from kernels.harness.arena import INPUT_SETS
from kernels.harness.conditions import OTHERS_LIMIT
from kernels.harness.evaluation import Check
from kernels.harness.subject import Subject

NAME = "repeated calls"

_CLAIMED_S = 0.002
_MOST_CALLS = 200
_FACTOR, _MARGIN_S = 2.0, 0.001
_LEAST_RUNS, _SECONDS = 4, 1.0
"""A run is as many calls as would take 2 ms by the child's median, at most 200, and may take twice that and 1 ms
(waking up and answering). Runs go on for a second, and until there were four, unless one is quick enough before."""


class _Runs:
    """Runs of so many calls in the child, by the supervisor's clock."""

    def __init__(self, subject: Subject, median_s: float) -> None:
        self.calls = max(1, min(_MOST_CALLS, int(_CLAIMED_S / max(median_s, 1e-9))))
        self.limit = self.calls * _FACTOR * median_s + _MARGIN_S
        self.made = 0
        self._subject = subject

    def seconds(self, calls: int, flushes: int = 0) -> float:
        """One run of ``calls`` calls behind ``flushes`` flushes. Raises SubjectFailed."""
        spare = self._subject.layout.warmup_slot
        pairs = [[chosen, spare] for chosen in range(INPUT_SETS)]
        message = {"do": "repeat", "pairs": pairs, "calls": calls, "flushes": flushes}
        began = time.perf_counter()
        self._subject.ask(message)
        return time.perf_counter() - began

    def quickest(self, run: Callable[[], float]) -> float:
        """The least that ``run`` gives, of as many as there is patience for, or of those up to one within the limit."""
        least, self.made, until = float("inf"), 0, time.monotonic() + _SECONDS
        while least > self.limit and (self.made < _LEAST_RUNS or time.monotonic() < until):
            least = min(least, run())
            self.made += 1
        return least


def repeats_check(
    subject: Subject,
    samples: Sequence[float],
    others: Callable[[], float | None] | None = None,
    *,
    launched: bool = False,
) -> Check:
    """Whether calls back to back take as long as the child's single calls said.

    ``others`` gives the share of the cores that processes outside of this evaluation had since this began, 0 to 1, or
    None where nobody counts it; without it nothing excuses slow runs. ``launched`` calls are work that the host hands
    to a card. Raises SubjectFailed.
    """
    median_s = statistics.median(samples)
    runs = _Runs(subject, median_s)
    claimed = f"{runs.calls} calls back to back; {runs.calls * median_s:.4g} s by the child's"
    quickest = runs.quickest(lambda: runs.seconds(runs.calls))
    note = f"seconds by the supervisor's clock of the quickest of {runs.made} runs of {claimed}"
    if quickest > runs.limit and launched:
        flushes = min(runs.seconds(0, runs.calls) for _ in range(_LEAST_RUNS))
        behind = runs.quickest(lambda: runs.seconds(runs.calls, runs.calls) - flushes)
        note = f"{note}; {quickest:.4g} s as the host launches them, {behind:.4g} s behind as many flushes of L2"
        quickest = behind
    if quickest > runs.limit and others is not None:
        share = others()
        if share is None or share > OTHERS_LIMIT:
            words = "an unknown part" if share is None else f"{share * 100:.0f} %"
            why = f"too busy a machine to tell: other processes had {words} of the cores' time; {note}"
            return Check(NAME, quickest, runs.limit, False, why, done=False)
    return Check(NAME, quickest, runs.limit, quickest <= runs.limit, note)
