"""What a person can do to a run that is under way."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from kernels.targets import Target
from kernels.toolchain.listings import Listing
from runs import changing, engine, jobs, locking
from runs.control_models import Action
from runs.fleet import LATER, device_queue
from runs.listings import listing_jobs
from runs.models import Attempt, Job, Run
from runs.profiles import can_be_profiled, profile_jobs
from runs.states import FINAL, LIVING_JOBS, JobKind


def cancel(run: Run, user: User) -> None:
    """Ask a run to stop: what waits ends at once, what is under way within about a second. Twice does nothing."""
    with transaction.atomic():
        locking.hold_all(run)
        asked = (
            Run.objects.filter(pk=run.pk, cancel_requested__isnull=True)
            .exclude(state__in=FINAL)
            .update(cancel_requested=timezone.now(), cancelled_by=user)
        )
        if asked:
            engine.cancel_what_rests(run)
            changing.note(run, user, Action.CANCELLED)


def cross_build(attempt: Attempt) -> None:
    """Have an attempt's program compiled for sm_90a, unless that is done or waits already."""
    with transaction.atomic():
        waiting = Job.objects.filter(attempt=attempt, kind=JobKind.CROSS_BUILD, state__in=LIVING_JOBS)
        if attempt.cross_build_id is None and not waiting.exists():
            jobs.enqueue(JobKind.CROSS_BUILD, LATER, attempt=attempt)


def disassemble(attempt: Attempt, unit: str, kind: Listing) -> None:
    """Have the PTX or SASS of one unit made, unless that waits already."""
    with transaction.atomic():
        if not any(job.state in LIVING_JOBS for job in listing_jobs(attempt, unit, kind)):
            payload = {"unit": unit, "listing": kind.value}
            jobs.enqueue(JobKind.DISASSEMBLE, LATER, attempt=attempt, payload=payload)


def profile(attempt: Attempt, metric_set: str) -> None:
    """Have an attempt profiled on a worker of its target, unless that waits already or there is nothing to profile."""
    if not can_be_profiled(attempt):
        return
    queue = device_queue(Target(attempt.trajectory.run.target))
    with transaction.atomic():
        if not any(job.state in LIVING_JOBS for job in profile_jobs(attempt)):
            payload = {"set": metric_set}
            jobs.enqueue(JobKind.PROFILE, queue, attempt=attempt, payload=payload)
