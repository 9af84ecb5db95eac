"""The supervisor's own look at how long calls take: short runs of them back to back, each between two readings.

A block of single calls brackets a short call too loosely to tell when the child's clock is wrong by a factor; a run of
many does tell. On a CPU whose cores others want too, a run may take any time, so runs are short and several, the
quickest counts, and runs beside which this process itself had to wait for a core prove nothing. It is a check of the
child's times and gives no time itself. Runs only in the supervisor.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from kernels.harness.arena import INPUT_SETS
from kernels.harness.evaluation import Check
from kernels.harness.subject import Subject

NAME = "repeated calls"

_CLAIMED_S = 0.002
_MOST_CALLS = 200
_FACTOR, _MARGIN_S = 2.0, 0.001
_RUNS, _TELLING_RUNS = 40, 4
_SECONDS = 2.0
"""A run is as many calls as would take 2 ms by the child's median, at most 200, and may take twice that and 1 ms
(waking up and answering). Up to 40 runs are made in 2 seconds or so; four quiet ones that all took longer decide."""

_PROBE_S, _PROBE_FACTOR = 0.0005, 1.2


def repeats_check(
    subject: Subject, samples: Sequence[float], *, shared: bool, quiet: Callable[[], bool] | None = None
) -> Check:
    """Whether calls back to back take as long as the child's single calls said; ``shared``: on a CPU.

    ``quiet`` tells whether nobody takes this process's core now. Raises SubjectFailed.
    """
    quiet = quiet or _undisturbed
    median_s = statistics.median(samples)
    calls = max(1, min(_MOST_CALLS, int(_CLAIMED_S / max(median_s, 1e-9))))
    limit = calls * _FACTOR * median_s + _MARGIN_S
    spare = subject.layout.warmup_slot
    message = {"do": "repeat", "pairs": [[chosen, spare] for chosen in range(INPUT_SETS)], "calls": calls}
    quickest, telling, until = float("inf"), 0, time.monotonic() + max(_SECONDS, 8 * calls * median_s)
    for _ in range(_RUNS):
        before = not shared or quiet()
        began = time.perf_counter()
        subject.ask(message)
        quickest = min(quickest, time.perf_counter() - began)
        telling += before and (not shared or quiet())
        if quickest <= limit or telling >= _TELLING_RUNS or time.monotonic() > until:
            break
    note = f"seconds by the supervisor's clock of the quickest run of {calls} calls back to back, "
    note += f"{calls * median_s:.4g} s by the child's"
    if quickest > limit and telling < _TELLING_RUNS:
        why = f"too busy a machine to tell: beside {telling} runs alone, nobody else took the cores; {note}"
        return Check(NAME, quickest, limit, False, why, done=False)
    return Check(NAME, quickest, limit, quickest <= limit, note)


def _undisturbed() -> bool:
    """Whether half a millisecond of work takes this thread about as long."""
    began, used = time.perf_counter(), time.thread_time()
    while (worked := time.thread_time() - used) < _PROBE_S:
        pass
    return time.perf_counter() - began <= _PROBE_FACTOR * worked
