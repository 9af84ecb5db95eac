"""Check a candidate, generate its C++ and compile it. An invalid program ends here, before any compiler runs."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from agent.steps import Measured
from kernels.codegen import emit
from kernels.codegen.emission import Emission
from kernels.dsl import ProgramErrors, check, parse
from kernels.errors import UserError
from kernels.harness.evaluation import Outcome
from kernels.locks import machine_lock
from kernels.models import Build, ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import from_json, to_json
from kernels.targets import Policy, Target
from kernels.toolchain import Cache, build
from kernels.toolchain.report import BuildOutcome, BuildReport
from runs import engine, jobs
from runs.fleet import device_queue
from runs.handlers.subjects import attempt_of
from runs.jobs import Lease
from runs.models import Attempt, Job, Trajectory
from runs.states import AttemptState, JobKind

_OUTCOMES = {
    BuildOutcome.FAILED: (Outcome.BUILD_ERROR, "the compiler refused the generated code"),
    BuildOutcome.TIMEOUT: (Outcome.BUILD_TIMEOUT, "the compiler took longer than {limit} s"),
    BuildOutcome.NO_COMPILER: (Outcome.BUILD_ERROR, "no compiler for this target on the build worker"),
    BuildOutcome.DISK_FULL: (Outcome.BUILD_ERROR, "disk full in the build cache; free some space and retry"),
}


@dataclass(frozen=True, slots=True)
class Compiled:
    """What compiling a program gave."""

    emission: Emission
    report: BuildReport


def compile_program(text: str, trajectory: Trajectory, target: Target, lease: Lease) -> Compiled:
    """Parse, check, emit and build ``text`` for the trajectory's problem; ProgramErrors where it is refused."""
    record = ProblemSize.objects.values_list("record", flat=True).get(
        problem_id=trajectory.problem_id, size=trajectory.size
    )
    signature = from_json(record, Inspection).signature  # type: ignore[arg-type]
    checked = check(parse(text), signature, target, Policy(trajectory.run.policy))
    emission = emit(checked)
    with machine_lock(exclusive=False, cancelled=lease.stop):
        report = build(
            emission,
            cache=Cache(settings.BUILD_CACHE_DIR),
            time_limit_s=settings.BUILD_TIME_LIMIT_S,
            cancelled=lease.stop,
        )
    lease.check()
    return Compiled(emission, report)


def store_build(attempt: Attempt, trajectory: Trajectory, target: Target, compiled: Compiled) -> Build:
    """The row of a build."""
    return Build.objects.create(
        kernel=attempt.kernel,
        problem_id=trajectory.problem_id,
        size=trajectory.size,
        target=target,
        policy=trajectory.run.policy,
        outcome=compiled.report.outcome,
        seconds=compiled.report.seconds,
        emission=to_json(compiled.emission),
        report=to_json(compiled.report),
    )


def handle_build(job: Job, lease: Lease) -> None:
    """Build the job's attempt for its run's target and queue its evaluation, or end it."""
    attempt = attempt_of(job)
    Attempt.objects.filter(pk=attempt.pk, state=AttemptState.QUEUED).update(state=AttemptState.BUILDING)
    trajectory, target = attempt.trajectory, Target(attempt.trajectory.run.target)
    try:
        compiled = compile_program(attempt.kernel.source, trajectory, target, lease)
    except (ProgramErrors, UserError) as error:
        lease.check()
        with jobs.settling(job):
            engine.record_measured(attempt, _ended(attempt, Outcome.REFUSED, str(error)))
        return
    with jobs.settling(job):
        attempt.build = store_build(attempt, trajectory, target, compiled)
        outcome = compiled.report.outcome
        if outcome is BuildOutcome.BUILT:
            attempt.state = AttemptState.BUILT
            attempt.save(update_fields=["build", "state"])
            jobs.enqueue(JobKind.EVALUATE, device_queue(target), attempt=attempt)
        else:
            kind, words = _OUTCOMES[outcome]
            engine.record_measured(attempt, _ended(attempt, kind, words.format(limit=settings.BUILD_TIME_LIMIT_S)))


def _ended(attempt: Attempt, outcome: Outcome, detail: str) -> Measured:
    return Measured(attempt.number, outcome, detail, time_s=None, baseline_s=None)
