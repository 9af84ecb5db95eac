"""The supervisor's own look at how long calls take: short runs of them back to back, each between two readings.

A block of single calls brackets a short call too loosely to tell when the child's clock is wrong by a factor; a run of
many does tell. On a CPU whose cores others want too, a run may take any time, so runs are short and many, the quickest
counts, and where other processes had a good part of the cores meanwhile, slow runs prove nothing. What the candidate
itself keeps busy is no excuse. It is a check of the child's times and gives no time itself. Runs only in the
supervisor.
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


def repeats_check(
    subject: Subject, samples: Sequence[float], others: Callable[[], float | None] | None = None
) -> Check:
    """Whether calls back to back take as long as the child's single calls said.

    ``others`` gives the share of the cores that processes outside of this evaluation had since this began, 0 to 1, or
    None where nobody counts it; on a card, where the cores do not matter, there is no such function. Raises
    SubjectFailed.
    """
    median_s = statistics.median(samples)
    calls = max(1, min(_MOST_CALLS, int(_CLAIMED_S / max(median_s, 1e-9))))
    limit = calls * _FACTOR * median_s + _MARGIN_S
    spare = subject.layout.warmup_slot
    message = {"do": "repeat", "pairs": [[chosen, spare] for chosen in range(INPUT_SETS)], "calls": calls}
    quickest, runs, until = float("inf"), 0, time.monotonic() + _SECONDS
    while quickest > limit and (runs < _LEAST_RUNS or time.monotonic() < until):
        began = time.perf_counter()
        subject.ask(message)
        quickest = min(quickest, time.perf_counter() - began)
        runs += 1
    note = f"seconds by the supervisor's clock of the quickest of {runs} runs of {calls} calls back to back; "
    note += f"{calls * median_s:.4g} s by the child's"
    if quickest > limit and others is not None:
        share = others()
        if share is None or share > OTHERS_LIMIT:
            words = "an unknown part" if share is None else f"{share * 100:.0f} %"
            why = f"too busy a machine to tell: other processes had {words} of the cores' time; {note}"
            return Check(NAME, quickest, limit, False, why, done=False)
    return Check(NAME, quickest, limit, quickest <= limit, note)
