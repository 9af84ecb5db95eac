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
import socket
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from kernels.harness import arena, isolation
from kernels.harness.baseline_subjects import Baselines
from kernels.harness.correctness import CHECK_REASONS, RoundErrors, reason_of
from kernels.harness.evaluation import (
    Check,
    Evaluation,
    EvaluationRequest,
    Isolation,
    Limits,
    Machine,
    Outcome,
    PlanCandidate,
)
from kernels.harness.failures import SubjectFailed, SubjectLost
from kernels.harness.subject import Holding, Subject
from kernels.locks import LockCancelled, machine_lock
from kernels.records import loads, to_json

if TYPE_CHECKING:
    from kernels.harness.input_maker import InputMaker
    from kernels.harness.module_loading import ModuleLoading
    from kernels.harness.reference import Guard, Reference
    from kernels.harness.verification import Case, Verification

LOCK_PATIENCE_S = 900.0
_CANDIDATE = "the candidate"
_MADE_AHEAD = 5
"""Sets of inputs beside those of the rounds: for the timed calls, for unseen ones, and for a module's first call."""


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

    def __init__(
        self, request: EvaluationRequest, report_fd: int, method: str, server: socket.socket | None = None
    ) -> None:
        self.request = request
        self.report_fd = report_fd
        self.method = method
        self.server = server
        self.layout = arena.lay_out(request.signature, request.device)
        self.findings = Findings([])
        self.lost = False
        self.guard: Guard | None = None
        self.waited_s = 0.0
        self.subjects: list[Subject] = []
        self.module: ModuleLoading | None = None
        self.ahead: Case | None = None
        self.verifying: Verification | None = None
        self.lock = "machine" if request.device == "host" else "cuda-0"

    def run(self) -> Evaluation:
        """Never raises for what a candidate or a problem does while this process lives."""
        try:
            with contextlib.ExitStack() as stack:
                return self._run(stack)
        except SubjectFailed as failed:
            self.lost = isinstance(failed, SubjectLost)
            if failed.outcome is Outcome.INCORRECT:
                self.findings.checks.append(Check(failed.check, None, None, False, failed.detail))
                self._merge_checks()
                return self._incorrect()
            return self.findings.evaluation(failed.outcome, failed.detail)
        except LockCancelled as waiting:
            return self.findings.evaluation(Outcome.NOT_MEASURED, str(waiting))

    def _run(self, stack: contextlib.ExitStack) -> Evaluation:
        with machine_lock(False, patience_s=LOCK_PATIENCE_S, name=self.lock) as waited:
            self.waited_s += waited
            candidate = self._start(stack, _CANDIDATE, self.request.limits, is_candidate=True)
            baselines = self._baselines(stack)
            baselines.start_first()
            # torch is imported here while both children import it too; collecting garbage meanwhile is wasted.
            gc.disable()
            from kernels.harness.reference import Guard, ProblemFailed, Reference

            gc.enable()

            try:
                self._limit_own_memory()
                maker = self._input_maker(stack)
                self._wake_card()
                baselines.start_others()
                self.guard = Guard(self.report_fd, self.request.limits.seconds)
                where = "cpu" if self.request.device == "host" else "cuda"
                reference = Reference(self.request, self.guard, where, maker)
                if self.request.device != "host":
                    # A CPU's few cores are the candidate's while it loads and is checked.
                    baselines.load_aside(reference)
                processes = self._load_candidate(candidate, reference)
                correct, estimate_s = self._verify(candidate, reference)
                if not correct:
                    return self._incorrect()
                baselines.load(reference)
                if maker is not None:
                    maker.finish()
            except ProblemFailed as failed:
                return self.findings.evaluation(failed.outcome, failed.detail)
        with machine_lock(True, patience_s=LOCK_PATIENCE_S, name=self.lock) as waited:
            self.waited_s += waited
            try:
                return self._time(candidate, baselines, reference, estimate_s, processes)
            except ProblemFailed as failed:
                return self.findings.evaluation(failed.outcome, failed.detail)

    def _input_maker(self, stack: contextlib.ExitStack) -> InputMaker | None:
        """Inputs made ahead for a card; on a CPU they would take the cores from what is started meanwhile."""
        if self.request.device == "host":
            return None
        from kernels.harness.input_maker import InputMaker

        maker = InputMaker(self.request, self.request.rounds + _MADE_AHEAD)
        stack.callback(maker.close)
        return maker

    def _wake_card(self) -> None:
        """Make this process's context on the card while the problem's model is being made on the CPU."""
        if self.request.device != "host":
            from kernels.harness import rehearsal

            threading.Thread(target=rehearsal.wake_card, args=(self.request,), daemon=True).start()

    def spent(self) -> dict[str, float]:
        """Seconds that were not this process's own so far, by whose they were."""
        found = {"waiting": self.waited_s}
        if self.guard is not None:
            found["problem"] = self.guard.spent_s
        for subject in self.subjects:
            found["candidate" if subject.name == _CANDIDATE else subject.name] = subject.calls_s
        return found

    def _baselines(self, stack: contextlib.ExitStack) -> Baselines:
        def start(name: str, limits: Limits) -> Subject:
            return self._start(stack, name, limits, is_candidate=False)

        return Baselines(self.request, self.layout, start, self._tell_to_load)

    def _start(self, stack: contextlib.ExitStack, name: str, limits: Limits, *, is_candidate: bool) -> Subject:
        problem = Path(self.request.problem_path)
        artifacts = tuple(path for path in map(Path, self._artifacts().values()) if path.exists())
        holding = Holding(
            method=self.method,
            readable=artifacts if is_candidate else (problem,),
            hidden=(problem,) if is_candidate else (),
            device=self.request.device,
            limits=limits,
            server=self.server,
        )
        subject = Subject(name, self.layout, holding)
        self.subjects.append(subject)
        stack.callback(subject.close)
        # What was put on last is done first: all are ended at once, then waited for.
        stack.callback(self._dismiss)
        return subject

    def _dismiss(self) -> None:
        for subject in self.subjects:
            subject.dismiss()

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
            arenas = len(self.request.baselines) * self.layout.total_bytes
            limit = pages * resource.getpagesize() + extra + arenas
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))

    def _load_candidate(self, subject: Subject, reference: Reference) -> int:
        """Load the plan; gives how many processes the child's sandbox is made of."""
        self.findings.isolation = isolation.describe(self.method, None)
        from kernels.harness import machine, verification

        self.findings.machine = machine.describe(self.request.device, {})
        subject.wait_ready()
        self.findings.isolation = isolation.describe(self.method, None, subject.warm)
        processes = subject.processes()
        module = self.module = self._module(reference)
        if module is not None:
            module.before_load(subject)
        form, patience = (module.form(), module.building) if module else (self._plan_form(subject), None)
        self._tell_to_load(subject, reference, form, copies_outputs=True)
        if self.request.device != "host":
            # A module may take long, and this process would only wait.
            self.ahead = verification.make_case(reference)
        answer = subject.hear("load", patience)
        self.findings.once_s = float(answer["once_s"])
        self.findings.isolation = isolation.describe(self.method, answer["address_space_bytes"], subject.warm)
        facts = {"threads": str(answer["threads"]), "OpenMP runtimes": str(answer["openmp"])}
        facts |= {str(name): str(words)[:200] for name, words in answer["device"].items()}
        if self.request.device != "host":
            facts["arena"] = subject.arena_place
        self.findings.machine = machine.describe(self.request.device, facts)
        if module is not None:
            # It is known by now how the child is held, whatever the first call does.
            self.findings.checks += module.first_call(subject, answer)
            self.findings.once_s += module.first_call_s
        return processes

    def _artifacts(self) -> dict[str, str]:
        """Where the shared objects lie, by symbol; none for a module."""
        candidate = self.request.candidate
        return candidate.artifacts if isinstance(candidate, PlanCandidate) else {}

    def _module(self, reference: Reference) -> ModuleLoading | None:
        """How a Python candidate is loaded; None for a plan."""
        candidate = self.request.candidate
        if isinstance(candidate, PlanCandidate):
            return None
        from kernels.harness.module_loading import ModuleLoading

        return ModuleLoading(candidate, self.request, reference)

    def _plan_form(self, subject: Subject) -> dict[str, Any]:
        """What the child of a plan is told to load."""
        form: dict[str, Any] = to_json(self.request.candidate)
        if artifacts := self._artifacts():
            form["artifacts"] = {symbol: subject.seen(path) for symbol, path in artifacts.items()}
        return form

    def _tell_to_load(
        self, subject: Subject, reference: Reference, what: dict[str, Any], *, copies_outputs: bool
    ) -> None:
        for name, tensor in subject.arena.parameters.items():
            tensor.copy_(reference.parameters[name])
        subject.tell(
            {
                "do": "load",
                "subject": what,
                "layout": arena.layout_form(self.layout),
                "device": self.request.device,
                "flush": self.request.flush,
                "copies_outputs": copies_outputs,
                "address_space_bytes": self._address_space(),
            }
        )

    def _verify(self, subject: Subject, reference: Reference) -> tuple[bool, float]:
        """All correctness checks; whether they hold, and about how long one call takes."""
        from kernels.harness import checks, verification

        if isinstance(self.request.candidate, PlanCandidate):
            planned = verification.planned_outputs(self.request.candidate)
            self.findings.checks += checks.spec_checks(planned, list(self.request.signature.outputs))
        if any(check.failed for check in self.findings.checks):
            return False, 0.0
        verifying = self.verifying = verification.Verification(self.request, reference, subject, self.ahead)
        self.findings.checks += verifying.run()
        if self.module is not None:
            self.findings.checks.append(self.module.structure_check())
        self.findings.checks.append(self._parameters_check(subject, reference))
        return not any(check.failed for check in self.findings.checks), verifying.call_s

    def _parameters_check(self, subject: Subject, reference: Reference) -> Check:
        changed = [
            name
            for name, tensor in subject.arena.parameters.items()
            if not arena.same_bits(tensor, reference.parameters[name])
        ]
        note = f"changed: {', '.join(changed[:5])}" if changed else ""
        return Check("parameters unchanged", float(len(changed)), 0.0, not changed, note)

    def _incorrect(self) -> Evaluation:
        failed = [check for check in self.findings.checks if check.failed]
        reason = reason_of(check.name for check in failed)
        first = next((check for check in failed if CHECK_REASONS.get(check.name) is reason), failed[0])
        limit = "" if first.limit is None else f", limit {first.limit:g}"
        seen = "" if first.seen is None else f" (seen {first.seen:.4g}{limit})"
        detail = f"{reason.words}: check {first.name!r} failed{seen}: {first.note}"
        return self.findings.evaluation(Outcome.INCORRECT, detail, reason=reason, rounds=self._rounds())

    def _rounds(self) -> tuple[RoundErrors, ...]:
        return tuple(self.verifying.rounds) if self.verifying is not None else ()

    def _time(
        self, candidate: Subject, baselines: Baselines, reference: Reference, estimate_s: float, processes: int
    ) -> Evaluation:
        from kernels.harness import checks, measuring, unseen

        measured = measuring.Measuring(self.request, candidate, baselines, reference, estimate_s).run()
        assert self.verifying is not None
        self.findings.checks += measured.checks
        median_s = measured.candidate.median_s
        self.findings.checks.append(unseen.unseen_check(self.request, reference, candidate, median_s))
        self.findings.checks += self.verifying.strided()
        candidate.ask({"do": "finish"})
        self.findings.checks.append(self._parameters_check(candidate, reference))
        self.findings.checks.append(checks.processes_check(processes, candidate.processes()))
        self._merge_checks()
        if any(check.failed for check in self.findings.checks):
            return self._incorrect()
        return self.findings.evaluation(
            Outcome.PASSED,
            "; ".join(f"{name} was not measured: {why}" for name, why in baselines.absent.items()),
            candidate=measured.candidate,
            baselines=measured.baselines,
            stages=measured.stages,
            conditions=measured.conditions,
            absent=baselines.absent,
            rounds=self._rounds(),
        )

    def _merge_checks(self) -> None:
        """One entry a name: of a check made twice, the one that failed, else the later one."""
        merged: dict[str, Check] = {}
        for check in self.findings.checks:
            if check.name not in merged or not merged[check.name].failed:
                merged[check.name] = check
        self.findings.checks = list(merged.values())


def judge(request_fd: int, report_fd: int, method: str, server_fd: int | None) -> NoReturn:
    """Evaluate to the end of this process, which may have been started for it or forked.

    ``server_fd`` is a socket to the fork server of subjects; None where each is to be started cold.
    """
    with os.fdopen(request_fd, "rb") as file:
        file.seek(0)
        request = loads(file.read(), EvaluationRequest)
    os.set_inheritable(report_fd, False)
    server = None if server_fd is None else socket.socket(fileno=server_fd)
    supervisor = Supervisor(request, report_fd, method, server)
    evaluation = supervisor.run()
    evaluation = replace(evaluation, spent_s=supervisor.spent())
    report = {"evaluation": to_json(evaluation), "lost": supervisor.lost}
    os.write(report_fd, json.dumps(report).encode() + b"\n")
    # The problem's threads and exit handlers have no say in how this process ends.
    os._exit(0)


def main(arguments: list[str]) -> None:
    """``supervisor REQUEST_FD REPORT_FD METHOD``: the cold way in."""
    judge(int(arguments[0]), int(arguments[1]), arguments[2], None)


if __name__ == "__main__":
    main(sys.argv[1:])
