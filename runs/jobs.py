"""Jobs: making one, sending the hint that it is ready, claiming it, keeping its lease, settling it.

A queue message is only a hint. A worker claims the row with a conditional UPDATE; what it brings back counts only
while the row still carries its token. So a doubled message does nothing, a lost one is sent again by the scheduler,
and a worker that was thought dead and comes back finds that its result is no longer wanted.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from runs.fleet import LATER
from runs.models import Attempt, Job, Run, Trajectory, Worker
from runs.states import ASIDE, FINAL, LIVING_JOBS, JobState, RunState

logger = logging.getLogger(__name__)

TASK = "runs.execute"
_ASK_EVERY_S = 1.0
_SILENCE_S = 2.0
_OF_PAUSED = Exists(Run.objects.filter(pk=OuterRef("run_id"), state=RunState.PAUSED, cancel_requested__isnull=True))
HELD_BACK = _OF_PAUSED & ~Q(kind__in=ASIDE)
"""Jobs that may not be taken now. What is about an attempt that ended moves nothing and is not held back, nor is what
is left of a paused run that is being cancelled: who takes it ends it.

A subquery and no join: an UPDATE over a join becomes ``id IN (…)``, and PostgreSQL, once it has waited for a row, would
not look at the row's state again.
"""


class _Broker:
    """What this process knows of the broker: until when (monotonic seconds) it is taken for dead."""

    silent_until = 0.0


_broker = _Broker()


class LeaseLost(Exception):
    """The job is somebody else's by now, or settled: what was done for it must be dropped."""


class JobCancelled(Exception):
    """A person cancelled the run, or stopped its problem, while the job was under way."""


class JobPreempted(Exception):
    """Work that can wait gave way to work that cannot."""


def enqueue(
    kind: str,
    queue: str,
    *,
    run: Run | None = None,
    trajectory: Trajectory | None = None,
    attempt: Attempt | None = None,
    payload: dict[str, Any] | None = None,
) -> Job:
    """Make a job and, once the transaction stands, send the hint. The scheduler sends jobs that can wait."""
    if attempt is not None:
        trajectory = attempt.trajectory
    job = Job.objects.create(
        kind=kind,
        queue=queue,
        run=trajectory.run if trajectory is not None else run,
        trajectory=trajectory,
        attempt=attempt,
        payload=payload or {},
    )
    if queue != LATER:
        transaction.on_commit(lambda: send(job.pk, queue))
    return job


def send(job_id: int, queue: str) -> bool:
    """Put the hint on the broker. A broker that does not answer is no error: the scheduler tries again.

    After a failure nothing is tried for a moment, so that a launch of many problems does not wait for each.
    """
    if time.monotonic() < _broker.silent_until:
        return False
    try:
        current_app.send_task(TASK, args=[job_id], queue=queue, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("the broker did not take job %s: %s", job_id, error)
        _broker.silent_until = time.monotonic() + _SILENCE_S
        return False
    Job.objects.filter(pk=job_id, state=JobState.QUEUED).update(sent=timezone.now())
    return True


def _lease_end() -> Any:
    return timezone.now() + timedelta(seconds=settings.JOB_LEASE_S)


def claim(job_id: int, worker: str) -> Job | None:
    """Take a queued job. None where it is not queued any more (claimed, settled, cancelled), its run is paused, or the
    worker is drained.

    The conditions are subqueries of one UPDATE of one table: PostgreSQL then looks at the row's state again once it
    has the row, so that of two at the same time one gets it.
    """
    drained = Worker.objects.filter(name=worker, drained__isnull=False)
    free = Job.objects.filter(~HELD_BACK, ~Exists(drained), pk=job_id)
    taken = free.filter(state=JobState.QUEUED).update(
        state=JobState.CLAIMED,
        token=uuid.uuid4().hex,
        worker=worker,
        claimed=timezone.now(),
        lease_until=_lease_end(),
        tries=F("tries") + 1,
    )
    if not taken:
        return None
    return Job.objects.select_related("run__owner", "trajectory__problem", "attempt__kernel").get(pk=job_id)


class Lease:
    """A worker's hold on a job. ``stop`` is asked often by whatever runs long; it looks at the row once a second."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._asked = time.monotonic()
        self._why: Exception | None = None
        self._owner = threading.get_ident()
        self._lock = threading.Lock()

    def stop(self) -> bool:
        """Whether to stop now; keeps the lease fresh otherwise."""
        with self._lock:
            now = time.monotonic()
            if self._why is None and now - self._asked >= _ASK_EVERY_S:
                self._asked = now
                self._why = self._reason_to_stop()
                if threading.get_ident() != self._owner:
                    # A builder's thread ends without Django's knowing: its connection must not outlive the question.
                    connection.close()
            return self._why is not None

    def _reason_to_stop(self) -> Exception | None:
        held = Job.objects.filter(pk=self.job.pk, state=JobState.CLAIMED, token=self.job.token)
        if not held.update(lease_until=_lease_end()):
            return LeaseLost()
        if self.job.queue == LATER:
            return JobPreempted() if urgent_work().exists() else None
        return JobCancelled() if self.job.run_id is not None and is_unwanted(self.job.pk) else None

    def check(self) -> None:
        """Raise the reason to stop, where there is one. Call it when something that asked ``stop`` came back."""
        if self._why is None:
            self._why = self._reason_to_stop()
        if self._why is not None:
            raise self._why


def urgent_work() -> Any:
    """Jobs under way or to be taken that may not wait."""
    return Job.objects.filter(state__in=(JobState.QUEUED, JobState.CLAIMED)).exclude(queue=LATER)


def moving(trajectory: Trajectory) -> QuerySet[Job]:
    """Living jobs that can move a trajectory."""
    living = Job.objects.filter(trajectory=trajectory, state__in=LIVING_JOBS)
    return living.exclude(queue=LATER).exclude(kind__in=ASIDE)


def is_unwanted(job_id: int) -> bool:
    """Whether a job's run is being cancelled or its problem stopped. One query.

    A run that has ended is not being cancelled: what a person asks of it afterwards may go on.
    """
    run = Q(run__cancel_requested__isnull=False) & ~Q(run__state__in=FINAL)
    problem = Q(trajectory__stop_requested__isnull=False) & ~Q(trajectory__state__in=FINAL)
    return Job.objects.filter(run | problem, pk=job_id).exists()


def hold_back() -> None:
    """Take what waits of paused runs out of its queue, and put back what was taken of runs that go on.

    A pause does so itself; this is for what was queued by work that was under way at the time. Two queries.
    """
    Job.objects.filter(HELD_BACK, state=JobState.QUEUED).update(state=JobState.PAUSED)
    paused = Job.objects.filter(state=JobState.PAUSED)
    paused.filter(~_OF_PAUSED).update(state=JobState.QUEUED, sent=None)


@contextmanager
def settling(job: Job) -> Iterator[None]:
    """A transaction that ends the job and stores its result together; LeaseLost undoes both."""
    with transaction.atomic():
        ended = Job.objects.filter(pk=job.pk, state=JobState.CLAIMED, token=job.token).update(
            state=JobState.DONE, finished=timezone.now(), token="", error=""
        )
        if not ended:
            raise LeaseLost
        yield


def put_back(job: Job, *, count_try: bool, error: str = "") -> bool:
    """Queue a claimed job again. False where the lease is not ours any more."""
    changes: dict[str, Any] = {"state": JobState.QUEUED, "token": "", "sent": None, "error": error[-4000:]}
    if not count_try:
        changes["tries"] = F("tries") - 1
    return bool(Job.objects.filter(pk=job.pk, state=JobState.CLAIMED, token=job.token).update(**changes))
