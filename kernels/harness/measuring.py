"""Measuring: the candidate beside its baselines in one call, what clocks and counters say of it, and the records.

Runs only in the supervisor (torch at the top). It judges nothing but the timed calls: correctness was settled before.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from kernels.codegen.emission import Launch
from kernels.harness import activity, checks, crosscheck, energy, timing, verification
from kernels.harness.arena import INPUT_SETS
from kernels.harness.baseline_subjects import Baseline, Baselines
from kernels.harness.conditions import Watch
from kernels.harness.devices import HostDevice, card_clock
from kernels.harness.evaluation import EAGER, Check, EvaluationRequest, PlanCandidate, StageShare, Timing
from kernels.harness.failures import SubjectFailed
from kernels.harness.measures import Activity, Conditions
from kernels.harness.nvml import Card, NoFigure
from kernels.harness.reference import ProblemFailed, Reference
from kernels.harness.subject import Subject
from kernels.harness.timing import Timed, TimingPhase

_CLOCK_ATTEMPTS = 2
_TRACED_CALLS, _TRACED_SECONDS = 3, 2.0
_RENEWING_S = {"host": 1.0, "cuda": 0.3}
"""How long making new inputs for timed calls may take; a card's calls are short beside that."""
_APART_S = {"host": 0.0, "cuda": 0.1}
"""Readings of the machine need not lie closer: a card's take six milliseconds, its blocks of calls often less."""
_NOT_ASKED = "not asked for"
_NOT_HERE = "not done for this baseline"


@dataclass(frozen=True, slots=True)
class Measured:
    """What timing gave."""

    checks: tuple[Check, ...]
    candidate: Timing
    baselines: tuple[Timing, ...]
    stages: tuple[StageShare, ...]
    conditions: Conditions


class Measuring:
    """One evaluation's measurement. ``estimate_s`` is about how long a call of the candidate takes."""

    def __init__(
        self,
        request: EvaluationRequest,
        candidate: Subject,
        baselines: Baselines,
        reference: Reference,
        estimate_s: float,
    ) -> None:
        self._request = request
        self._candidate = candidate
        self._baselines = baselines
        self._reference = reference
        self._estimate_s = estimate_s
        self._card, self._no_card = _card(request.device)
        self._watch = Watch(self._pids, self._card, self._no_card, _APART_S[request.device])

    def run(self) -> Measured:
        """Time everything. Raises ProblemFailed, and SubjectFailed where the candidate fails."""
        self._watch.look_for_others()
        phase, timed = self._attempts()
        own = timed[self._candidate.name]
        found = [phase.outputs_check(), timing.clock_check(own), timing.trend_check(own)]
        if self._request.device != "host":
            found.append(timing.events_check(own))
        found.append(self._repeats(own))
        compared = [self._baseline(phase, timed, baseline) for baseline in list(self._baselines.live)]
        stages = timing.stage_shares(self._candidate)
        recorded = self._activity(own, found)
        power = self._energy(self._candidate, own)
        found.append(timing.after_check(phase.one_more(self._candidate), self._request.tolerance))
        self._watch.look_for_others()
        compared += self._alone()
        return Measured(
            checks=tuple(found),
            candidate=self._record("candidate", phase, own, _joined(recorded, power)),
            baselines=tuple(record for record in compared if record is not None),
            stages=stages,
            conditions=self._watch.of(),
        )

    # --- time -----------------------------------------------------------------------------------

    def _attempts(self) -> tuple[TimingPhase, dict[str, Timed]]:
        """The timing phase; once more from the start where the clocks disagreed (a busy machine can do that)."""
        for _ in range(_CLOCK_ATTEMPTS):
            timed = {b.subject.name: self._baseline_timed(b) for b in self._baselines.live}
            copied = verification.copied_bytes(self._request)
            timed[self._candidate.name] = Timed(self._candidate, True, self._estimate_s, copied)
            phase = self._phase(list(timed.values()))
            phase.run()
            self._drop_failed(timed, phase)
            if all(timing.clock_check(one).passed for one in timed.values()):
                break
        return phase, timed

    def _baseline_timed(self, baseline: Baseline) -> Timed:
        copied = verification.copied_bytes(self._request) if self._request.device == "host" else 0
        return Timed(baseline.subject, False, self._estimate_s, copied)

    def _phase(self, timed: list[Timed]) -> TimingPhase:
        request = self._request
        renewing_s = _RENEWING_S[request.device]
        plan = timing.Plan(request.repeats, request.warmup, request.tolerance, request.limits, renewing_s)
        refresh: Callable[[], verification.Case] = lambda: verification.make_case(self._reference)  # noqa: E731
        return TimingPhase(plan, timed, refresh, self._watch, lambda: self._reference.making_s)

    def _drop_failed(self, timed: dict[str, Timed], phase: TimingPhase) -> None:
        """A baseline that failed while it was timed is absent; that is not the candidate's fault."""
        for baseline in list(self._baselines.live):
            why = phase.lost.get(baseline.subject.name)
            if why is not None:
                self._baselines.lose(baseline, why)
                del timed[baseline.subject.name]

    def _baseline(self, phase: TimingPhase, timed: dict[str, Timed], baseline: Baseline) -> Timing | None:
        """A baseline's record with its outputs compared; None where its own clocks disagreed or it failed."""
        name = baseline.kind.full_name
        own = timed[baseline.subject.name]
        if not timing.clock_check(own).passed:
            self._baselines.lose(baseline, "its clock and the supervisor's disagreed")
            return None
        try:
            round_ = phase.one_more(baseline.subject)
            power = self._energy(baseline.subject, own) if name == EAGER else {"missing": {"energy": _NOT_HERE}}
        except SubjectFailed as failed:
            self._baselines.lose(baseline, failed.detail)
            return None
        agrees = checks.within(round_, self._request.tolerance)
        note = (
            f"matched share {round_.candidate.matched:.6g}, largest error {round_.candidate.relative:.3g} of the "
        )
        note += f"largest magnitude; {self._request.tolerance.name} tolerance"
        more = {"settings": baseline.settings, "agrees": agrees, "agrees_note": note}
        return self._record(name, phase, own, _joined(power, {**more, "missing": {"activity": _NOT_HERE}}))

    def _alone(self) -> list[Timing | None]:
        """The baselines for which there was no room beside the others, one after another."""
        found: list[Timing | None] = []
        if self._baselines.waiting:
            self._baselines.close()
        while self._baselines.waiting:
            try:
                baseline = self._baselines.next_one(self._reference)
                if baseline is None:
                    break
                timed = {baseline.subject.name: self._baseline_timed(baseline)}
                phase = self._phase(list(timed.values()))
                phase.run()
            except ProblemFailed:
                break
            self._drop_failed(timed, phase)
            if timed:
                found.append(self._baseline(phase, timed, baseline))
            self._baselines.close()
        return found

    def _record(self, name: str, phase: TimingPhase, timed: Timed, more: dict[str, Any]) -> Timing:
        conditions = self._watch.of(timed.subject.name)
        return timing.timing_of(name, timed, self._method(phase, timed), conditions=conditions, **more)

    def _method(self, phase: TimingPhase, timed: Timed) -> str:
        clock = HostDevice.clock if self._request.device == "host" else card_clock(self._request.flush)
        own_memory = timed.checked and isinstance(self._request.candidate, PlanCandidate)
        written = "outputs in memory made beforehand" if own_memory else "outputs made by torch in each call"
        if self._request.device == "host":
            written = "outputs in one place, poisoned before each call" if own_memory else written
            written += " and copied away after it"
        turns = "blocks"
        if phase.subjects > 1:
            others = (
                "the other subject's" if phase.subjects == 2 else f"those of {phase.subjects - 1} other subjects"
            )
            turns = f"blocks that alternate with {others}"
        return (
            f"{clock}; {len(timed.samples)} single calls in {len(timed.gaps)} {turns}, "
            f"{self._request.warmup} warm-up calls first; {phase.sets} input sets; {written}; "
            f"same process kind, threads and data for every subject"
        )

    def _repeats(self, own: Timed) -> Check:
        """The judge's own clock beside the child's; on a CPU with an eye on who else has the cores."""
        if self._request.device != "host":
            return crosscheck.repeats_check(self._candidate, own.samples, launched=True)
        watch = Watch(self._pids)
        watch.before()

        def others() -> float | None:
            watch.after(crosscheck.NAME)
            return watch.of(crosscheck.NAME).others_share

        return crosscheck.repeats_check(self._candidate, own.samples, others)

    # --- beside the time ------------------------------------------------------------------------

    def _activity(self, own: Timed, found: list[Check]) -> dict[str, Any]:
        """The card's own record of the candidate's calls, with its checks; or why there is none."""
        record, why = self._traced(own)
        if record is None:
            return {"missing": {"activity": why}}
        median_s = statistics.median(own.samples)
        found += activity.activity_checks(record, median_s, _launching_stages(self._request))
        return {"activity": record, "missing": {}}

    def _traced(self, own: Timed) -> tuple[Activity | None, str]:
        count = max(1, min(_TRACED_CALLS, int(_TRACED_SECONDS / max(own.estimate_s, 1e-9))))
        spare = self._candidate.layout.warmup_slot
        answer = self._candidate.ask({"do": "trace", "pairs": [[i % INPUT_SETS, spare] for i in range(count)]})
        if "none" in answer:
            return None, str(answer["none"])
        candidate = self._request.candidate
        artifacts = map(Path, candidate.artifacts.values()) if isinstance(candidate, PlanCandidate) else ()
        calls = activity.named(answer)
        symbols = activity.symbols_of(artifacts, {str(event[1]) for call in calls for event in call})
        return activity.activity_of(calls, str(answer.get("method", ""))[:200], symbols), ""

    def _energy(self, subject: Subject, own: Timed) -> dict[str, Any]:
        if not self._request.energy:
            return {"missing": {"energy": _NOT_ASKED}}
        spare = subject.layout.warmup_slot
        pairs = [[chosen, spare] for chosen in range(INPUT_SETS)]
        try:
            meter = self._meter()
            found = energy.measure(
                meter,
                own.estimate_s,
                lambda count: subject.ask({"do": "repeat", "pairs": pairs, "calls": count, "flushes": 0}),
            )
        except NoFigure as error:
            return {"missing": {"energy": str(error)}}
        return {"energy_j": found.joules, "energy_method": found.method, "missing": {}}

    def _meter(self) -> energy.Meter:
        if self._request.device == "host":
            return energy.PackageMeter()
        if self._card is None:
            raise NoFigure(self._no_card)
        return energy.CardMeter(self._card)

    def _pids(self) -> Iterable[int]:
        subjects = [self._candidate, *(baseline.subject for baseline in self._baselines.live)]
        return [os.getpid(), *(pid for subject in subjects for pid in subject.pids())]


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Fields of a record from two measurements, with what either is missing."""
    return {**one, **other, "missing": {**one["missing"], **other["missing"]}}


def _card(device: str) -> tuple[Card | None, str]:
    """The card by NVML, or why there is none to read."""
    if device == "host":
        return None, ""
    try:
        return Card(f"GPU-{torch.cuda.get_device_properties(0).uuid}"), ""
    except (NoFigure, AttributeError) as error:
        return None, str(error)


def _launching_stages(request: EvaluationRequest) -> int:
    """How many stages of a call launch kernels of their own; 0 where the candidate is no plan."""
    if not isinstance(request.candidate, PlanCandidate):
        return 0
    return len({step.stage for step in request.candidate.plan.steps if isinstance(step, Launch) and not step.once})
