"""Executing one job in a worker: claim, handle, settle; and what happens when that fails.

Whatever a handler raises ends here. The worker lives on, the job is tried again up to ``JOB_TRIES`` times, and
after that its row says that it was lost and the run goes on without it.
"""

from __future__ import annotations

import logging
import traceback

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from runs import engine, jobs, stopping
from runs.handlers.registry import handler_of
from runs.jobs import JobCancelled, JobPreempted, Lease, LeaseLost
from runs.models import Job
from runs.states import JobState

logger = logging.getLogger(__name__)


def run_job(job_id: int, worker: str) -> bool:
    """Do one job, if it is still to do; whether it was."""
    job = jobs.claim(job_id, worker)
    if job is None:
        return False
    try:
        lease = Lease(job)
        lease.check()
        handler_of(job.kind)(job, lease)
    except LeaseLost:
        logger.warning("%s: the lease was lost; its result is dropped", job)
    except JobCancelled:
        cancel(job)
    except JobPreempted:
        jobs.put_back(job, count_try=False)
    except Exception as error:  # a worker must outlive whatever a job raises
        logger.exception("%s failed", job)
        retry_or_lose(job, "".join(traceback.format_exception(error)))
    return True


def cancel(job: Job) -> None:
    """End a job whose run was cancelled or whose problem was stopped; and that too, where nothing of it lives on."""
    with transaction.atomic():
        ended = Job.objects.filter(pk=job.pk, state=JobState.CLAIMED, token=job.token).update(
            state=JobState.CANCELLED, finished=timezone.now(), token=""
        )
        if ended and job.run is not None:
            stopping.stop_after(job)


def retry_or_lose(job: Job, error: str) -> None:
    """Queue a job again, or declare it lost when its tries are spent."""
    if job.tries < settings.JOB_TRIES:
        with transaction.atomic():
            if jobs.put_back(job, count_try=True, error=error):
                engine.mark_queued_again(job)
                transaction.on_commit(lambda: jobs.send(job.pk, job.queue))
        return
    with transaction.atomic():
        ended = Job.objects.filter(pk=job.pk, state=JobState.CLAIMED, token=job.token).update(
            state=JobState.LOST, finished=timezone.now(), token="", error=error[-4000:]
        )
        if ended:
            engine.record_lost(job, error)
