"""Check a candidate, generate its C++ and compile it. An invalid program ends here, before any compiler runs.

A Python candidate has nothing to compile: its text is looked at, and the evaluation does the rest in its sandbox.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from agent.steps import Measured
from kernels.candidates import PythonSyntax, prepare
from kernels.codegen.emission import Emission
from kernels.dsl import ProgramErrors
from kernels.errors import UserError
from kernels.harness.evaluation import ModuleCandidate, Outcome
from kernels.languages import Language, check_target
from kernels.locks import machine_lock
from kernels.models import Build, Kernel, ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import from_json, to_json
from kernels.targets import Policy, Target
from kernels.toolchain import Cache, build
from kernels.toolchain.report import BuildOutcome, BuildReport
from runs import engine, jobs
from runs.feedback import findings_of
from runs.fleet import device_queue
from runs.handlers.subjects import attempt_of
from runs.jobs import Lease
from runs.models import Attempt, Job, Trajectory
from runs.states import AttemptState, JobKind

_OUTCOMES = {
    BuildOutcome.FAILED: (Outcome.BUILD_ERROR, "the compiler refused the code"),
    BuildOutcome.TIMEOUT: (Outcome.BUILD_TIMEOUT, "the compiler took longer than {limit} s"),
    BuildOutcome.NO_COMPILER: (Outcome.BUILD_ERROR, "no compiler for this target on the build worker"),
    BuildOutcome.DISK_FULL: (Outcome.BUILD_ERROR, "disk full in the build cache; free some space and retry"),
}


@dataclass(frozen=True, slots=True)
class Compiled:
    """What compiling a program gave."""

    emission: Emission
    report: BuildReport


def compile_kernel(kernel: Kernel, trajectory: Trajectory, target: Target, lease: Lease) -> Compiled | None:
    """Check and build a kernel for the trajectory's problem; None for Python, which needs no build.

    ProgramErrors or another UserError where it is refused.
    """
    record = ProblemSize.objects.values_list("record", flat=True).get(
        problem_id=trajectory.problem_id, size=trajectory.size
    )
    signature = from_json(record, Inspection).signature  # type: ignore[arg-type]
    policy, language = Policy(trajectory.run.policy), Language(kernel.language)
    check_target(language, target)
    emission = prepare(kernel.source, language, signature, target, policy)
    if isinstance(emission, ModuleCandidate):
        return None
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
        compiled = compile_kernel(attempt.kernel, trajectory, target, lease)
    except (ProgramErrors, UserError) as error:
        lease.check()
        with jobs.settling(job):
            words = error.placed() if isinstance(error, PythonSyntax) else str(error)
            engine.record_measured(attempt, _ended(attempt, Outcome.REFUSED, words))
        return
    with jobs.settling(job):
        if compiled is not None:
            attempt.build = store_build(attempt, trajectory, target, compiled)
        outcome = compiled.report.outcome if compiled is not None else BuildOutcome.BUILT
        if outcome is BuildOutcome.BUILT:
            attempt.state = AttemptState.BUILT
            attempt.save(update_fields=["build", "state"])
            jobs.enqueue(JobKind.EVALUATE, device_queue(target), attempt=attempt)
        else:
            kind, words = _OUTCOMES[outcome]
            engine.record_measured(attempt, _ended(attempt, kind, words.format(limit=settings.BUILD_TIME_LIMIT_S)))


def _ended(attempt: Attempt, outcome: Outcome, detail: str) -> Measured:
    found = findings_of(attempt, outcome, detail)
    return Measured(attempt.number, outcome, detail, time_s=None, baseline_s=None, feedback=found)
