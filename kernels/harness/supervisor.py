"""The process that judges: it owns the reference, the expected outputs, the tolerance, the seeds and the verdict.

``python -m kernels.harness.supervisor REQUEST_FD REPORT_FD METHOD`` reads an EvaluationRequest from one private
file and writes lines of JSON to the other: ``{"step": …}`` before and after each step of the problem's own code,
and one ``{"evaluation": …}`` at the end. Its standard output belongs to the problem and means nothing.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernels.codegen.emission import Launch
from kernels.harness import arena, isolation
from kernels.harness.evaluation import EAGER, Check, Evaluation, EvaluationRequest, Isolation, Machine, Outcome
from kernels.harness.subject import Holding, Subject, SubjectFailed
from kernels.locks import LockCancelled, machine_lock
from kernels.records import loads, to_json

if TYPE_CHECKING:
    from kernels.harness.reference import Reference
    from kernels.harness.timing import Timed, TimingPhase

LOCK_PATIENCE_S = 900.0
_CANDIDATE = "the candidate"
_CLOCK_ATTEMPTS = 2


@dataclass(slots=True)
class Findings:
    """What is known so far; whatever the end is, it goes into the record."""

    checks: list[Check]
    once_s: float | None = None
    machine: Machine | None = None
    isolation: Isolation | None = None

    def evaluation(self, outcome: Outcome, detail: str, **measured: Any) -> Evaluation:
        """The record. Times are passed in only by an evaluation that passed."""
        blank: dict[str, Any] = {"candidate": None, "baselines": (), "stages": ()}
        return Evaluation(
            outcome=outcome,
            detail=detail,
            checks=tuple(self.checks),
            once_s=self.once_s,
            machine=self.machine,
            isolation=self.isolation,
            wall_s=0.0,
            **{**blank, **measured},
        )


class Supervisor:
    """One evaluation from request to record."""

    def __init__(self, request: EvaluationRequest, report_fd: int, method: str) -> None:
        self.request = request
        self.report_fd = report_fd
        self.method = method
        self.layout = arena.lay_out(request.signature)
        self.findings = Findings([])
        self.baseline_note = ""
        self.lock = "machine" if request.device == "host" else "cuda-0"

    def run(self) -> Evaluation:
        """Never raises for what a candidate or a problem does while this process lives."""
        try:
            with contextlib.ExitStack() as stack:
                return self._run(stack)
        except SubjectFailed as failed:
            return self.findings.evaluation(failed.outcome, failed.detail)
        except LockCancelled as waiting:
            return self.findings.evaluation(Outcome.NOT_MEASURED, str(waiting))

    def _run(self, stack: contextlib.ExitStack) -> Evaluation:
        with machine_lock(False, patience_s=LOCK_PATIENCE_S, name=self.lock):
            candidate = self._start(stack, _CANDIDATE, is_candidate=True)
            eager = self._start(stack, EAGER, is_candidate=False)
            # torch is imported here while both children import it too; collecting garbage meanwhile is wasted.
            gc.disable()
            from kernels.harness.reference import Guard, ProblemFailed, Reference

            gc.enable()

            try:
                self._limit_own_memory()
                guard = Guard(self.report_fd, self.request.limits.seconds)
                reference = Reference(self.request, guard, "cpu" if self.request.device == "host" else "cuda")
                processes = self._load_candidate(candidate, reference)
                correct, estimate_s = self._verify(candidate, reference)
                if not correct:
                    return self._incorrect()
                baseline = self._load_eager(eager, reference)
            except ProblemFailed as failed:
                return self.findings.evaluation(failed.outcome, failed.detail)
        with machine_lock(True, patience_s=LOCK_PATIENCE_S, name=self.lock):
            try:
                return self._time(candidate, baseline, reference, estimate_s, processes)
            except ProblemFailed as failed:
                return self.findings.evaluation(failed.outcome, failed.detail)

    def _start(self, stack: contextlib.ExitStack, name: str, *, is_candidate: bool) -> Subject:
        problem = Path(self.request.problem_path)
        artifacts = tuple(path for path in map(Path, self.request.artifacts.values()) if path.exists())
        holding = Holding(
            method=self.method,
            readable=artifacts if is_candidate else (problem,),
            hidden=(problem,) if is_candidate else (),
            device=self.request.device,
            limits=self.request.limits,
        )
        subject = Subject(name, self.layout, holding)
        stack.callback(subject.close)
        return subject

    def _address_space(self) -> int | None:
        """Bytes that a process may map beyond what torch itself needs; None where a driver maps the whole card."""
        if self.request.device != "host":
            return None
        return self.request.limits.memory_bytes + self.layout.total_bytes

    def _limit_own_memory(self) -> None:
        """The problem's own code has the candidate's memory, and room for the children's arenas."""
        extra = self._address_space()
        if extra is not None:
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
            limit = pages * resource.getpagesize() + extra + self.layout.total_bytes
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))

    def _load_candidate(self, subject: Subject, reference: Reference) -> int:
        """Load the plan; gives how many processes the child's sandbox is made of."""
        plan = {"kind": "plan", "plan": to_json(self.request.plan), "artifacts": self._absolute_artifacts()}
        self.findings.isolation = isolation.describe(self.method, None)
        from kernels.harness import machine

        self.findings.machine = machine.describe(self.request.device, {})
        subject.wait_ready()
        processes = subject.processes()
        answer = self._load(subject, reference, plan, copies_outputs=True)
        self.findings.once_s = float(answer["once_s"])
        self.findings.isolation = isolation.describe(self.method, answer["address_space_bytes"])
        facts = {"threads": str(answer["threads"]), "OpenMP runtimes": str(answer["openmp"])}
        self.findings.machine = machine.describe(self.request.device, facts)
        return processes

    def _absolute_artifacts(self) -> dict[str, str]:
        return {symbol: str(Path(path).absolute()) for symbol, path in self.request.artifacts.items()}

    def _load_eager(self, subject: Subject, reference: Reference) -> Subject | None:
        """Load the problem's own model as a subject. Where that fails the candidate is still measured."""
        module = {
            "kind": "module",
            "path": str(Path(self.request.problem_path).absolute()),
            "size": self.request.size,
            "constants": {str(position): value for position, value in self.request.signature.constants.items()},
        }
        try:
            subject.wait_ready()
            self._load(subject, reference, module, copies_outputs=False)
        except SubjectFailed as failed:
            self.baseline_note = f"{EAGER} was not measured: {failed.detail}"
            return None
        return subject

    def _load(
        self, subject: Subject, reference: Reference, what: dict[str, Any], *, copies_outputs: bool
    ) -> dict[str, Any]:
        for name, tensor in subject.arena.parameters.items():
            tensor.copy_(reference.parameters[name])
        return subject.ask(
            {
                "do": "load",
                "subject": what,
                "layout": arena.layout_form(self.layout),
                "device": self.request.device,
                "copies_outputs": copies_outputs,
                "address_space_bytes": self._address_space(),
            }
        )

    def _verify(self, subject: Subject, reference: Reference) -> tuple[bool, float]:
        """All correctness checks; whether they hold, and about how long one call takes."""
        from kernels.harness import checks, verification

        self.findings.checks += checks.spec_checks(
            verification.planned_outputs(self.request), list(self.request.signature.outputs)
        )
        if not all(check.passed for check in self.findings.checks):
            return False, 0.0
        verifying = verification.Verification(self.request, reference, subject)
        self.findings.checks += verifying.run()
        self.findings.checks.append(self._parameters_check(subject, reference))
        return all(check.passed for check in self.findings.checks), verifying.call_s

    def _parameters_check(self, subject: Subject, reference: Reference) -> Check:
        changed = [
            name
            for name, tensor in subject.arena.parameters.items()
            if not arena.same_bits(tensor, reference.parameters[name])
        ]
        note = f"changed: {', '.join(changed[:5])}" if changed else ""
        return Check("parameters unchanged", float(len(changed)), 0.0, not changed, note)

    def _incorrect(self) -> Evaluation:
        failed = next(check for check in self.findings.checks if not check.passed)
        seen = "" if failed.seen is None else f" (seen {failed.seen:.4g}, limit {failed.limit})"
        return self.findings.evaluation(Outcome.INCORRECT, f"check {failed.name!r} failed{seen}: {failed.note}")

    def _time(
        self, candidate: Subject, baseline: Subject | None, reference: Reference, estimate_s: float, processes: int
    ) -> Evaluation:
        from kernels.harness import checks, timing

        phase, timed = self._timing_attempts(candidate, baseline, reference, estimate_s)
        own = timed[candidate.name]
        self.findings.checks += [phase.outputs_check(), timing.clock_check(own)]
        if EAGER in timed and not timing.clock_check(timed[EAGER]).passed:
            # Not the candidate's fault: its own time stands, and there is no baseline beside it.
            self.baseline_note = f"{EAGER} was not measured: its clock and the supervisor's disagreed"
            del timed[EAGER]
        if self.request.device != "host":
            self.findings.checks.append(timing.events_check(own))
        stages = timing.stage_shares(candidate)
        self.findings.checks.append(self._parameters_check(candidate, reference))
        self.findings.checks.append(checks.processes_check(processes, candidate.processes()))
        self._merge_checks()
        if not all(check.passed for check in self.findings.checks):
            return self._incorrect()
        return self.findings.evaluation(
            Outcome.PASSED,
            self.baseline_note,
            candidate=timing.timing_of("candidate", own, self._method(phase, own)),
            baselines=tuple(
                timing.timing_of(name, t, self._method(phase, t)) for name, t in timed.items() if t is not own
            ),
            stages=stages,
        )

    def _merge_checks(self) -> None:
        """One entry a name: of a check made twice, the one that failed, else the later one."""
        merged: dict[str, Check] = {}
        for check in self.findings.checks:
            if check.name not in merged or merged[check.name].passed:
                merged[check.name] = check
        self.findings.checks = list(merged.values())

    def _timing_attempts(
        self, candidate: Subject, baseline: Subject | None, reference: Reference, estimate_s: float
    ) -> tuple[TimingPhase, dict[str, Timed]]:
        """The timing phase; once more from the start where the clocks disagreed (a busy machine can do that)."""
        from kernels.harness import timing, verification

        request = self.request
        plan = timing.Plan(request.repeats, request.warmup, request.tolerance, request.limits)
        written = {name for step in request.plan.steps if isinstance(step, Launch) for name in step.results}
        outputs = zip(request.plan.outputs, request.signature.outputs, strict=True)
        copied = sum(spec.bytes for name, spec in outputs if name not in written)
        for _ in range(_CLOCK_ATTEMPTS):
            timed: dict[str, Timed] = {}
            if baseline is not None:
                timed[EAGER] = timing.Timed(baseline, False, estimate_s)
            timed[candidate.name] = timing.Timed(candidate, True, estimate_s, copied)
            refresh: Callable[[], verification.Case] = lambda: verification.make_case(reference)  # noqa: E731
            phase = timing.TimingPhase(plan, list(timed.values()), refresh)
            phase.run()
            if all(timing.clock_check(t).passed for t in timed.values()):
                break
        return phase, timed

    def _method(self, phase: TimingPhase, timed: Timed) -> str:
        from kernels.harness.devices import CudaDevice, HostDevice

        clock = HostDevice.clock if self.request.device == "host" else CudaDevice.clock
        written = "outputs in memory made beforehand" if timed.checked else "outputs made by torch in each call"
        return (
            f"{clock}; {len(timed.samples)} single calls in {len(timed.gaps)} blocks that alternate with the other "
            f"subject's, {self.request.warmup} warm-up calls first; {phase.sets} input sets; {written}; "
            f"same process kind, threads and data for every subject"
        )


def main(arguments: list[str]) -> None:
    """``supervisor REQUEST_FD REPORT_FD METHOD``."""
    request_fd, report_fd = int(arguments[0]), int(arguments[1])
    with os.fdopen(request_fd, "rb") as file:
        file.seek(0)
        request = loads(file.read(), EvaluationRequest)
    os.set_inheritable(report_fd, False)
    evaluation = Supervisor(request, report_fd, arguments[2]).run()
    os.write(report_fd, json.dumps({"evaluation": to_json(evaluation)}).encode() + b"\n")
    # The problem's threads and exit handlers have no say in how this process ends.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
