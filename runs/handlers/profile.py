"""Profile a built candidate on this worker's card: the record to a row, the report to the folder of reports.

An attempt stays where it stands, and so does every evaluation; what its counters say joins its findings. A worker that
gives no counters says so once, in its own row; what is profiled automatically is then left out until somebody asks by
hand.
"""

from __future__ import annotations

import uuid
from pathlib import Path

from django.conf import settings

from kernels.codegen.emission import Emission
from kernels.errors import UserError
from kernels.harness.evaluation import Evaluation, EvaluationRequest
from kernels.languages import Language
from kernels.locks import machine_lock
from kernels.models import Profile
from kernels.profiling import profile
from kernels.profiling.record import FIXED, FULL, ProfileOutcome, ProfileRequest
from kernels.profiling.record import Profile as Record
from kernels.records import from_json
from kernels.toolchain import Cache, build
from runs import engine, jobs
from runs.errors import BuildGone
from runs.feedback import findings_of
from runs.handlers.evaluate import artifacts_of, request_of
from runs.handlers.problem_files import problem_file
from runs.handlers.subjects import attempt_of
from runs.jobs import Lease
from runs.models import Attempt, Job, Worker
from runs.profiles import COUNTERS, READABLE, make_room, reports_folder, store


def handle_profile(job: Job, lease: Lease) -> None:
    """Profile the job's attempt; what stands in the way before that is kept as the job's error, for the page."""
    attempt = attempt_of(job)
    if job.payload.get("automatic") and _known_unreadable(job.worker):
        with jobs.settling(job):
            Job.objects.filter(pk=job.pk).update(error="")
        return
    try:
        artifacts = _artifacts(attempt, lease)
    except UserError as error:
        lease.check()
        with jobs.settling(job):
            Job.objects.filter(pk=job.pk).update(error=str(error))
        return
    metric_set = FULL if job.payload.get("set") == FULL else FIXED
    name = f"{uuid.uuid4().hex}.ncu-rep"
    with problem_file(attempt.trajectory.problem) as path:
        asked = _request(request_of(attempt, str(path), artifacts), metric_set, reports_folder() / name)
        record = profile(asked, cancelled=lease.stop)
    lease.check()
    with jobs.settling(job):
        _settle(job, attempt, record, metric_set, name)
    gone = make_room(reports_folder(), settings.PROFILE_REPORTS_BYTES)
    Profile.objects.filter(report__in=gone).update(report="")


def _settle(job: Job, attempt: Attempt, record: Record, metric_set: str, name: str) -> None:
    store(attempt, record, metric_set, name if record.report_bytes is not None else "")
    if record.outcome is ProfileOutcome.MEASURED:
        _note(job.worker, READABLE)
        _feed_back(attempt, record)
    elif record.outcome is ProfileOutcome.UNAVAILABLE:
        _note(job.worker, record.detail)


def _feed_back(attempt: Attempt, record: Record) -> None:
    """Make the attempt's findings again, now with its counters; the next ask of a run that goes on has them."""
    if attempt.evaluation is None:
        return
    evaluation = from_json(attempt.evaluation.record, Evaluation)
    found = findings_of(attempt, evaluation.outcome, evaluation.detail, evaluation=evaluation, profile=record)
    engine.record_profiled(attempt, found)


def _request(request: EvaluationRequest, metric_set: str, report: Path) -> ProfileRequest:
    return ProfileRequest(
        problem_path=request.problem_path,
        size=request.size,
        signature=request.signature,
        candidate=request.candidate,
        device=request.device,
        metric_set=metric_set,
        report=str(report),
        isolation=settings.PROFILE_ISOLATION or None,
        seconds=float(settings.PROFILE_TIME_LIMIT_S),
    )


def _artifacts(attempt: Attempt, lease: Lease) -> dict[str, str]:
    """Where each unit's shared object lies; one that left the cache is compiled again. Raises BuildGone."""
    if attempt.kernel.language == Language.PY:
        return {}
    row = attempt.build
    found = artifacts_of(row)
    if found is None and row is not None:
        with machine_lock(exclusive=False, cancelled=lease.stop):
            build(
                from_json(row.emission, Emission),
                cache=Cache(settings.BUILD_CACHE_DIR),
                time_limit_s=settings.BUILD_TIME_LIMIT_S,
                cancelled=lease.stop,
            )
        lease.check()
        found = artifacts_of(row)
    if found is None:
        raise BuildGone()
    return found


def _known_unreadable(worker: str) -> bool:
    """Whether this worker has found out already that it gives no counters."""
    facts = Worker.objects.filter(name=worker).values_list("facts", flat=True).first() or {}
    return bool(facts.get(COUNTERS)) and facts[COUNTERS] != READABLE


def _note(name: str, words: str) -> None:
    """Write in the worker's own row whether its counters can be read."""
    for worker in Worker.objects.filter(name=name):
        worker.facts = {**worker.facts, COUNTERS: words}
        worker.save(update_fields=["facts"])
