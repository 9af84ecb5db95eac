"""What brings stuck work back: expired leases, lost hints, waiting work, trajectories that nothing moves.

``tick`` is called about once a second by ``manage.py scheduler`` and may be called by any number of processes.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from celery import current_app
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from runs import engine, execution, jobs, locking, outside, stopping
from runs.fleet import LATER
from runs.models import Job, Run, Trajectory, Worker
from runs.reviving import last_step, revive
from runs.states import ASIDE, FINAL, LIVING_JOBS, JobState, RunState

logger = logging.getLogger(__name__)

_RESEND_AFTER = timedelta(seconds=2)
_FORGET_WORKER_AFTER = timedelta(days=1)
_AT_ONCE = 200


def tick() -> None:
    """One round of everything."""
    expire_leases()
    jobs.hold_back()
    send_again()
    start_waiting_work()
    revive_stalled()
    end_what_is_over()
    outside.end_idle()
    Worker.objects.filter(heartbeat__lt=timezone.now() - _FORGET_WORKER_AFTER).delete()


def expire_leases() -> None:
    """Take back every claimed job whose worker has not been heard of in time."""
    expired = Job.objects.filter(state=JobState.CLAIMED, lease_until__lt=timezone.now())
    for job in expired.select_related("run", "trajectory", "attempt"):
        logger.warning("%s: its worker (%s) stopped answering", job, job.worker)
        _give_back(job, "its worker stopped answering")


def take_back(worker: str) -> None:
    """Take back what a dead worker of this name had claimed; it is called by its successor."""
    for job in Job.objects.filter(state=JobState.CLAIMED, worker=worker).select_related(
        "run", "trajectory", "attempt"
    ):
        _give_back(job, "its worker was killed")


def release_in_order() -> None:
    """Put every claimed job back without counting a try: all workers were stopped in order."""
    for job in Job.objects.filter(state=JobState.CLAIMED).select_related("run", "trajectory", "attempt"):
        with transaction.atomic():
            if jobs.put_back(job, count_try=False):
                engine.mark_queued_again(job)


def _give_back(job: Job, why: str) -> None:
    if job.run is not None and job.queue != LATER and jobs.is_unwanted(job.pk):
        execution.cancel(job)
    else:
        execution.retry_or_lose(job, why)


def _waiting_on_broker(queue: str) -> int | None:
    """How many hints lie on the broker's queue; None where it does not answer."""
    try:
        with current_app.connection_for_read() as connection:
            return int(connection.default_channel.client.llen(queue))
    except (OperationalError, OSError):
        return None


def send_again() -> None:
    """Send hints again for queued jobs whose hint is nowhere any more: a broker died, or a worker with hints in hand.

    A hint that a worker holds back (it fetches one ahead) is sent twice by this; the claim makes that harmless.
    """
    queued = Job.objects.filter(state=JobState.QUEUED).exclude(queue=LATER)
    for queue in queued.values_list("queue", flat=True).distinct():
        stale = queued.filter(queue=queue).exclude(sent__gt=timezone.now() - _RESEND_AFTER)
        if not stale.exists() or _waiting_on_broker(queue) != 0:
            continue
        for job_id in stale.order_by("pk").values_list("pk", flat=True)[:_AT_ONCE]:
            if not jobs.send(job_id, queue):
                return


def start_waiting_work() -> None:
    """Send one job of the queue that waits, once nothing else lives."""
    waiting = Job.objects.filter(queue=LATER)
    first = waiting.filter(state=JobState.QUEUED).order_by("pk").first()
    if first is None or jobs.urgent_work().exists() or waiting.filter(state=JobState.CLAIMED).exists():
        return
    if _waiting_on_broker(LATER) == 0:
        jobs.send(first.pk, LATER)


def revive_stalled() -> None:
    """Give a job to every open trajectory that has none, from the last word of its log."""
    for trajectory in _stalled():
        with transaction.atomic():
            if trajectory.run.cancel_requested is not None:
                engine.cancel_what_rests(trajectory.run)
            else:
                _revive_held(trajectory.pk)


def _revive_held(trajectory_id: int) -> None:
    """Hold a trajectory and give it a job where it still has none: of two schedulers the second finds the first's."""
    locking.hold_one(trajectory_id)
    trajectory = _stalled().filter(pk=trajectory_id).first()
    if trajectory is None or trajectory.run.cancel_requested is not None:
        return
    if trajectory.stop_requested is not None:
        stopping.stop_what_rests(trajectory)
        return
    last = last_step(trajectory)
    logger.warning("%s: nothing moved it after %s", trajectory, last or "its launch")
    revive(trajectory, last)


def _stalled() -> QuerySet[Trajectory]:
    """Open trajectories without a job.

    One that waits for a post from outside has none in good order, and one of a paused run waits to be resumed.
    """
    return (
        Trajectory.objects.exclude(state__in=FINAL)
        .exclude(jobs__in=Job.objects.filter(state__in=LIVING_JOBS).exclude(queue=LATER))
        .exclude(run__state=RunState.PAUSED, run__cancel_requested__isnull=True, stop_requested__isnull=True)
        .exclude(pk__in=outside.waiting().values("pk"))
        .select_related("run")
    )


def end_what_is_over() -> None:
    """End every run under way whose trajectories have all ended and for which no job lives. One query if there is none.

    Whatever ends the last trajectory ends its run too; this is for what went wrong there.
    """
    mine = Trajectory.objects.filter(run=OuterRef("pk"))
    living = Job.objects.filter(run=OuterRef("pk"), state__in=LIVING_JOBS).exclude(queue=LATER)
    over = Run.objects.filter(
        Exists(mine), ~Exists(mine.exclude(state__in=FINAL)), ~Exists(living.exclude(kind__in=ASIDE))
    )
    for run in over.exclude(state__in=FINAL):
        logger.warning("%s: its problems had ended and it had not", run)
        with transaction.atomic():
            engine.finish_run_if_over(run)
