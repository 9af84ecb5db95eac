"""Measure a built candidate on this worker's device and store what came of it."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings

from agent.steps import Measured
from kernels.candidates import built
from kernels.codegen.emission import Emission
from kernels.harness import evaluate
from kernels.harness.evaluation import (
    EAGER,
    Candidate,
    Evaluation,
    EvaluationRequest,
    ModuleCandidate,
    Outcome,
    repeats_for,
)
from kernels.harness.problem_tolerance import tolerance_for
from kernels.languages import Language
from kernels.models import Build, ProblemSize
from kernels.models import Evaluation as EvaluationRow
from kernels.problems.inspection import Inspection
from kernels.records import from_json, to_json
from kernels.targets import Policy, Target
from kernels.toolchain import Cache
from kernels.toolchain.report import BuildReport
from runs import engine, jobs
from runs.auditing import audit_attempt
from runs.feedback import findings_of
from runs.fleet import CPU
from runs.gap_pane import evidence_of
from runs.handlers.problem_files import problem_file
from runs.handlers.subjects import attempt_of
from runs.holding import weigh
from runs.jobs import Lease
from runs.models import Attempt, Job
from runs.states import AttemptState, JobKind
from sol.cases import raise_flags
from sol.gap.assessment import assess
from sol.gap.record import Gap


def handle_evaluate(job: Job, lease: Lease) -> None:
    """Evaluate the job's attempt. A shared object that left the cache is built again first."""
    attempt = attempt_of(job)
    Attempt.objects.filter(pk=attempt.pk, state=AttemptState.BUILT).update(state=AttemptState.EVALUATING)
    artifacts = {} if attempt.kernel.language == Language.PY else artifacts_of(attempt.build)
    if artifacts is None:
        with jobs.settling(job):
            Attempt.objects.filter(pk=attempt.pk).update(state=AttemptState.QUEUED)
            jobs.enqueue(JobKind.BUILD, CPU, attempt=attempt)
        return
    with problem_file(attempt.trajectory.problem) as path:
        evaluation = evaluate(request_of(attempt, str(path), artifacts), cancelled=lease.stop)
    flags = audit_attempt(attempt, evaluation)
    lease.check()
    with jobs.settling(job):
        attempt.evaluation = _store(attempt, evaluation)
        case = raise_flags(attempt.kernel, attempt.trajectory.problem, flags, attempt.evaluation)
        attempt.reason = evaluation.reason or ""
        found = findings_of(attempt, evaluation.outcome, evaluation.detail, evaluation=evaluation)
        result = _measured(attempt.number, evaluation)
        engine.record_measured(attempt, replace(result, gap=_gap(attempt, evaluation), feedback=found))
        if case is not None:
            weigh(case)


def artifacts_of(build: Build | None) -> dict[str, str] | None:
    """Where each unit's shared object lies; None where one is gone."""
    if build is None:
        return None
    cache, found = Cache(settings.BUILD_CACHE_DIR), {}
    for unit in from_json(build.report, BuildReport).units:
        path = cache.path(unit.artifact) if unit.artifact else None
        if path is None or not path.exists():
            return None
        found[unit.symbol] = str(path)
    return found


def request_of(attempt: Attempt, path: str, artifacts: dict[str, str]) -> EvaluationRequest:
    """What is asked of the harness for a built attempt; ``path`` is the problem's file, ``artifacts`` by symbol."""
    trajectory = attempt.trajectory
    record = ProblemSize.objects.values_list("record", flat=True).get(
        problem_id=trajectory.problem_id, size=trajectory.size
    )
    inspection = from_json(record, Inspection)  # type: ignore[arg-type]
    target = Target(trajectory.run.target)
    device = "cuda" if target.is_cuda else "host"
    return EvaluationRequest(
        problem_path=path,
        size=trajectory.size,
        signature=inspection.signature,
        candidate=_candidate(attempt, artifacts),
        device=device,
        repeats=repeats_for(device),
        tolerance=tolerance_for(trajectory.run.tolerance, inspection, Policy(trajectory.run.policy), target),
        baselines=trajectory.run.baseline_kinds,
        policy=Policy(trajectory.run.policy),
        energy=True,
    )


def _candidate(attempt: Attempt, artifacts: dict[str, str]) -> Candidate:
    if attempt.kernel.language == Language.PY:
        return ModuleCandidate(attempt.kernel.source)
    assert attempt.build is not None  # whoever has its artifacts has its build
    return built(from_json(attempt.build.emission, Emission), artifacts)


def _store(attempt: Attempt, evaluation: Evaluation) -> EvaluationRow:
    eager = evaluation.baseline(EAGER)
    return EvaluationRow.objects.create(
        kernel=attempt.kernel,
        build=attempt.build,
        problem=attempt.trajectory.problem,
        size=attempt.trajectory.size,
        target=attempt.trajectory.run.target,
        machine=attempt.trajectory.device,
        outcome=evaluation.outcome,
        median_s=evaluation.candidate.median_s if evaluation.candidate else None,
        eager_s=eager.median_s if eager else None,
        record=to_json(evaluation),
    )


def _gap(attempt: Attempt, evaluation: Evaluation) -> Gap | None:
    """What its gap is made of as far as the evaluation tells; a profile comes later, if one does."""
    emission = from_json(attempt.build.emission, Emission) if attempt.build is not None else None
    found = assess(evidence_of(attempt.trajectory, evaluation, emission))
    return found.breakdown if found is not None else None


def _measured(number: int, evaluation: Evaluation) -> Measured:
    passed = evaluation.outcome is Outcome.PASSED and evaluation.candidate is not None
    eager = evaluation.baseline(EAGER)
    return Measured(
        number=number,
        outcome=evaluation.outcome,
        detail=evaluation.detail,
        time_s=evaluation.candidate.median_s if passed and evaluation.candidate else None,
        baseline_s=eager.median_s if eager else None,
        stage_seconds={share.stage: share.seconds for share in evaluation.stages},
    )
