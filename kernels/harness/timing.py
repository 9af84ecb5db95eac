"""Timing: single calls of candidate and baseline in alternating blocks, each timed output checked.

Runs only in the supervisor. The child's clock gives the samples; the supervisor's own clock brackets each block and
must agree. Inputs alternate between two sets, whose contents are new for each pair of blocks as long as the
reference is quick enough. It builds nothing and decides nothing about correctness beyond the timed outputs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

from kernels.harness import checks
from kernels.harness.arena import INPUT_SETS, poison, same_bits
from kernels.harness.checks import Round
from kernels.harness.comparison import measure
from kernels.harness.evaluation import Check, Limits, Outcome, StageShare, Timing, Tolerance
from kernels.harness.failures import SubjectFailed
from kernels.harness.subject import Subject
from kernels.harness.verification import Case, compare, fill, inputs_kept

MINIMUM_CALLS = 10
SUBJECT_SECONDS = 1.5
_BLOCK_SECONDS = 0.4
_WARMUP_SECONDS = 1.0
_WAKING_CALLS, _WAKING_SECONDS = 5, 0.002

_MARGIN_SHARE = 0.25
_MARGIN_BLOCK_S = 0.010
_MARGIN_CALL_S = 0.0005
_MARGIN_EVENTS_S = 0.0001
_COPY_BYTES_S = 1e9
"""How far the supervisor's bracket of a block may exceed the child's sum: a quarter, 10 ms a block (two process
wake-ups on a machine whose cores are all busy), and half a millisecond a call (what lies between two samples);
outputs that are copied there, and poisoned, count too, at 1 GB/s."""


@dataclass
class Timed:
    """One subject while it is being timed. ``estimate_s`` is what a call is expected to take.

    ``copied_bytes`` of outputs are copied to their slot after each call, outside the samples and inside the bracket:
    those that torch makes, those that are views, and on a CPU all.
    """

    subject: Subject
    checked: bool
    estimate_s: float
    copied_bytes: int = 0
    samples: list[float] = field(default_factory=list)
    spent_s: float = 0.0
    gaps: list[tuple[float, float]] = field(default_factory=list)
    hidden: list[float] = field(default_factory=list)

    def done(self, repeats: int, limits: Limits) -> bool:
        """Enough calls, or at least 10 and the time is up, or a quarter of the whole limit is gone."""
        count = len(self.samples)
        if count >= max(repeats, 1):
            return True
        late = self.spent_s >= limits.seconds / 4
        return late or (count >= MINIMUM_CALLS and self.spent_s >= SUBJECT_SECONDS)

    def calls(self, repeats: int) -> int:
        """Timed calls of the next block."""
        wanted = int(_BLOCK_SECONDS / max(self.estimate_s, 1e-9))
        return max(1, min(wanted, self.subject.layout.slots, repeats - len(self.samples)))

    def warmups(self, warmup: int) -> int:
        """Untimed calls before a block: all at first, then a few that wake threads and clocks up."""
        if self.samples:
            return max(1, min(warmup, _WAKING_CALLS, int(_WAKING_SECONDS / max(self.estimate_s, 1e-9))))
        return max(1, min(warmup, int(_WARMUP_SECONDS / max(self.estimate_s, 1e-9))))


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of the timing phase. New inputs are made as long as that has taken less than ``renewing_s``."""

    repeats: int
    warmup: int
    tolerance: Tolerance
    limits: Limits
    renewing_s: float = 1.0


class Watcher(Protocol):
    """Reads the machine's state around each block."""

    def before(self) -> None: ...
    def after(self, subject: str) -> None: ...


class TimingPhase:
    """Times subjects in turn, in blocks. ``refresh`` makes a new verified Case; it may raise ProblemFailed.

    ``making_s`` tells what the inputs of one case cost: one that was made ahead came at once, the next may not.
    """

    def __init__(
        self,
        plan: Plan,
        timed: list[Timed],
        refresh: Callable[[], Case],
        watcher: Watcher | None = None,
        making_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._plan = plan
        self._timed = timed
        self._refresh = refresh
        self._watcher = watcher
        self._making_s = making_s
        self._cases: list[Case] = []
        self._reference_s = 0.0
        self._verified: dict[tuple[int, int], list[Tensor]] = {}
        self.subjects = len(timed)
        self.sets = 0
        self.checked_calls = 0
        self.wrong = ""
        self.lost: dict[str, str] = {}
        """Baselines that failed on the way, with the reason; the others go on without them."""

    def run(self) -> None:
        """Blocks in turn until every subject has enough calls. Raises SubjectFailed where the candidate fails."""
        while not all(self._done(timed) for timed in self._timed):
            self._renew()
            for timed in list(self._timed):
                if not self._done(timed):
                    self._turn(timed)

    def _turn(self, timed: Timed) -> None:
        try:
            self._block(timed)
        except SubjectFailed as failed:
            if timed.checked:
                raise
            self.lost[timed.subject.name] = failed.detail
            self._timed.remove(timed)

    def _done(self, timed: Timed) -> bool:
        return timed.done(self._plan.repeats, self._plan.limits)

    def _renew(self) -> None:
        last = INPUT_SETS * max(self._reference_s / self.sets, self._making_s()) if self.sets else 0.0
        if self._cases and self._reference_s + last > self._plan.renewing_s:
            return
        began = time.monotonic()
        self._cases = [self._refresh() for _ in range(INPUT_SETS)]
        self._reference_s += time.monotonic() - began
        self._verified.clear()
        self.sets += INPUT_SETS
        for timed in self._timed:
            for chosen, case in enumerate(self._cases):
                fill(timed.subject, chosen, case.inputs)

    def _block(self, timed: Timed) -> None:
        warmups, calls = timed.warmups(self._plan.warmup), timed.calls(self._plan.repeats)
        outputs = timed.subject.arena.outputs
        for slot in range(calls):
            for tensor in outputs[slot]:
                poison(tensor)
        spare = timed.subject.layout.warmup_slot
        pairs = [[i % INPUT_SETS, spare] for i in range(warmups)]
        pairs += [[i % INPUT_SETS, i] for i in range(calls)]
        timed.subject.ask({"do": "fetch", "sets": list(range(INPUT_SETS)), "slots": list(range(calls))})
        if self._watcher is not None:
            self._watcher.before()
        began = time.perf_counter()
        answer = timed.subject.ask({"do": "block", "pairs": pairs})
        bracket = time.perf_counter() - began
        if self._watcher is not None:
            self._watcher.after(timed.subject.name)
        samples, host = numbers(answer, "samples", len(pairs)), numbers(answer, "host", len(pairs))
        timed.samples += samples[warmups:]
        timed.spent_s += bracket
        timed.estimate_s = statistics.median(host[warmups:])
        timed.gaps.append((bracket, sum(host)))
        timed.hidden += [h - s for h, s in zip(host[warmups:], samples[warmups:], strict=True)]
        if timed.checked:
            timed.subject.ask({"do": "publish", "sets": list(range(INPUT_SETS)), "slots": list(range(calls))})
            self._check_outputs(timed, calls)

    def _check_outputs(self, timed: Timed, calls: int) -> None:
        for slot in range(calls):
            chosen = slot % INPUT_SETS
            outputs = timed.subject.arena.outputs[slot]
            self.checked_calls += 1
            known = self._verified.get((id(timed), chosen))
            if known is not None and all(map(same_bits, outputs, known)):
                continue
            case = self._cases[chosen]
            began = time.monotonic()
            round_ = self._unless_plain(f"timed call {len(timed.samples) - calls + slot + 1}", case, outputs)
            # Comparing is part of what new inputs cost.
            self._reference_s += time.monotonic() - began
            if round_ is None or checks.within(round_, self._plan.tolerance):
                self._verified[id(timed), chosen] = [tensor.clone() for tensor in outputs]
            elif not self.wrong:
                seen, worst = round_.candidate.matched, list(round_.candidate.worst)
                self.wrong = f"{round_.label}: matched share {seen:.6g}, worst element {worst}"
        for chosen, case in enumerate(self._cases):
            if not self.wrong and not inputs_kept(timed.subject, chosen, case.inputs):
                self.wrong = "a timed call changed its inputs"

    def _unless_plain(self, label: str, case: Case, outputs: list[Tensor]) -> Round | None:
        """The comparison with eager's beside it; None where the outputs are right without that."""
        tolerance = self._plan.tolerance
        if checks.plainly_within(measure(outputs, case.expected, tolerance), tolerance):
            return None
        return compare(label, case, outputs, tolerance, kept=True)

    def one_more(self, subject: Subject) -> Round:
        """One more call outside of timing on the inputs of the last blocks, compared as a timed one is."""
        chosen = 0
        fill(subject, chosen, self._cases[chosen].inputs)
        outputs = subject.arena.outputs[0]
        for tensor in outputs:
            poison(tensor)
        moved = {"sets": [chosen], "slots": [0]}
        subject.ask({"do": "fetch", **moved})
        subject.ask({"do": "verify", "pair": [chosen, 0]})
        subject.ask({"do": "publish", **moved})
        return compare("one more call", self._cases[chosen], outputs, self._plan.tolerance, kept=True)

    def outputs_check(self) -> Check:
        """Whether every timed output was right."""
        note = self.wrong or f"{self.checked_calls} timed calls on {self.sets} input sets, every output compared"
        return Check("timed outputs", None, None, not self.wrong, note)


def clock_check(timed: Timed) -> Check:
    """The median block: what of the supervisor's bracket the child's samples do not account for, in seconds."""
    calls = len(timed.samples) / max(len(timed.gaps), 1)
    gaps = [bracket - samples for bracket, samples in timed.gaps]
    bracket = statistics.median(bracket for bracket, _ in timed.gaps)
    per_call = _MARGIN_CALL_S + timed.copied_bytes / _COPY_BYTES_S
    limit = _MARGIN_SHARE * bracket + _MARGIN_BLOCK_S + per_call * (calls + 1)
    seen = statistics.median(gaps)
    note = (
        f"supervisor's clock less the child's, median of {len(gaps)} blocks of {bracket:.4g} s; may not be negative"
    )
    return Check("clock agreement", seen, limit, -1e-4 <= seen <= limit, note)


def events_check(timed: Timed) -> Check:
    """The median call of a card: what the host waited for the whole card beyond the time between the events.

    Work on another stream, or work that goes on after the last event, shows here. A launch and a wait cost tens of
    microseconds, so 100 of them and a quarter of the call are allowed.
    """
    limit = _MARGIN_SHARE * statistics.median(timed.samples) + _MARGIN_EVENTS_S
    seen = statistics.median(timed.hidden)
    return Check("device work", seen, limit, seen <= limit, "host time until the card was idle, less the events'")


def after_check(round_: Round, tolerance: Tolerance) -> Check:
    """Whether a call after all timed and instrumented ones is still right."""
    right = checks.within(round_, tolerance)
    note = "a call after timing, with poisoned memory, compared as the timed ones are"
    if not right:
        seen, worst = round_.candidate.matched, list(round_.candidate.worst)
        note = f"a call after timing is wrong: matched share {seen:.6g}, worst element {worst}"
    return Check("outputs after timing", None, None, right, note)


def trend_check(timed: Timed) -> Check:
    """Recorded, never failed: the median of the last quarter of the calls over that of the first.

    Well below 1 the calls were still warming up, well above 1 the machine slowed down (heat, power, company).
    """
    samples = timed.samples
    quarter = len(samples) // 4
    if quarter < 2 or not statistics.median(samples[:quarter]):
        return Check("steady over time", None, None, True, f"{len(samples)} calls are too few to tell")
    seen = statistics.median(samples[-quarter:]) / statistics.median(samples[:quarter])
    return Check(
        "steady over time", seen, None, True, f"median of the last {quarter} calls over the first {quarter}"
    )


def timing_of(name: str, timed: Timed, method: str, **more: Any) -> Timing:
    """Median, quartiles (inclusive method) and minimum of all samples; ``more`` are the record's further fields."""
    samples = timed.samples
    if len(samples) > 1:
        q1, median, q3 = statistics.quantiles(samples, n=4, method="inclusive")
    else:
        q1 = median = q3 = samples[0]
    return Timing(name, median, q1, q3, min(samples), len(samples), tuple(samples), method, **more)


def stage_shares(subject: Subject) -> tuple[StageShare, ...]:
    """One instrumented call, steps of one stage added up, in the order of the plan."""
    answer = subject.ask({"do": "stages", "pair": [0, subject.layout.warmup_slot]})
    seconds: dict[tuple[str, bool | None], float] = {}
    for stage, library, nanoseconds in answer["stages"]:
        key = (str(stage), None if library is None else bool(library))
        seconds[key] = seconds.get(key, 0.0) + float(nanoseconds) * 1e-9
    return tuple(StageShare(stage, taken, library) for (stage, library), taken in seconds.items())


def numbers(answer: dict[str, Any], name: str, count: int) -> list[float]:
    """``count`` nanosecond figures as seconds. A child that sends something else has broken its contract."""
    given = answer.get(name)
    if not isinstance(given, list) or len(given) != count or not all(isinstance(n, int) and n >= 0 for n in given):
        raise SubjectFailed(Outcome.CRASH, f"the child sent no list of {count} times as {name}")
    return [n * 1e-9 for n in given]
