"""The supervisor's own look at how long a call takes: many calls back to back, between two readings of a clock.

A block of single calls brackets a short call too loosely to tell when the child's clock is wrong by a factor; a long
run of calls does tell. On a card that clock is the supervisor's. On a CPU, whose cores others may want too, it is the
processor time that the system counted for the child: waiting for a core adds to the wall clock and not to that. It is
a check of the child's times and gives no time itself. Runs only in the supervisor.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from kernels.harness.arena import INPUT_SETS
from kernels.harness.evaluation import Check
from kernels.harness.subject import Subject

NAME = "repeated calls"

_CLAIMED_S = 0.05
_MOST_CALLS = 500
_FACTOR, _MARGIN_S = 2.0, 0.02
_ATTEMPTS, _BEYOND_DOUBT = 4, 10.0
"""As many calls as would take 50 ms by the child's median, at most 500, may take twice that and 20 ms (waking up and
answering). The best of up to four attempts counts, unless one is so far off that no other could change it."""


def repeats_check(subject: Subject, samples: Sequence[float], *, shared: bool) -> Check:
    """Whether calls back to back take as long as the child's single calls said; ``shared``: on a CPU.

    Of processor time, a call took at least that of its busiest thread, and a core's share of all threads' together.
    Raises SubjectFailed.
    """
    median_s = statistics.median(samples)
    calls = max(1, min(_MOST_CALLS, int(_CLAIMED_S / max(median_s, 1e-9))))
    limit = calls * _FACTOR * median_s + _MARGIN_S
    spare = subject.layout.warmup_slot
    message = {"do": "repeat", "pairs": [[chosen, spare] for chosen in range(INPUT_SETS)], "calls": calls}
    seen = float("inf")
    for _ in range(_ATTEMPTS):
        before, began = _processor_ns(subject.pids()) if shared else {}, time.perf_counter()
        subject.ask(message)
        taken = time.perf_counter() - began
        if shared:
            after = _processor_ns(subject.pids())
            if not after:
                return Check(NAME, None, None, False, "this system counts no processor time of threads", done=False)
            taken = least_seconds(before, after, len(os.sched_getaffinity(0)))
        seen = min(seen, taken)
        if seen <= limit or seen > _BEYOND_DOUBT * limit:
            break
    whose = "of processor time of" if shared else "by the supervisor's clock of"
    note = f"seconds {whose} {calls} calls back to back, {calls * median_s:.4g} s by the child's clock"
    return Check(NAME, seen, limit, seen <= limit, note)


def least_seconds(before: dict[int, int], after: dict[int, int], cores: int) -> float:
    """The least wall time in which threads can have used this much processor time; nanoseconds by thread."""
    used = [taken - before.get(thread, 0) for thread, taken in after.items()]
    return max(max(used), sum(used) / cores) * 1e-9


def _processor_ns(pids: Sequence[int]) -> dict[int, int]:
    """Nanoseconds on a core of every thread of these processes, by its number."""
    found: dict[int, int] = {}
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                found[int(task.name)] = int((task / "schedstat").read_text("ascii").split()[0])
    return found
