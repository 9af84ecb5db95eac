"""What an admin does to workers: drain one, end that, remove a dead one, queue again what one is at."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from runs import engine, execution, jobs, ledger, recovery
from runs.errors import JobEnded, WorkerLives
from runs.fleet import LATER
from runs.ledger_models import Action
from runs.models import Job, Worker
from runs.states import JobState


def fresh_since() -> datetime:
    """A worker that was heard of after this is online."""
    return timezone.now() - timedelta(seconds=settings.WORKER_OFFLINE_AFTER_S)


def drain(worker: Worker, user: User) -> None:
    """Let a worker end what it does and take nothing more. Twice does nothing."""
    with transaction.atomic():
        if Worker.objects.filter(pk=worker.pk, drained=None).update(drained=timezone.now()):
            ledger.record(user, Action.DRAINED, worker)


def undrain(worker: Worker, user: User) -> None:
    """Let a drained worker take work again. Twice does nothing."""
    with transaction.atomic():
        if Worker.objects.filter(pk=worker.pk, drained__isnull=False).update(drained=None):
            ledger.record(user, Action.UNDRAINED, worker)


def remove(worker: Worker, user: User) -> None:
    """Forget a worker that is dead, and queue again what it had claimed. Raises WorkerLives.

    One that was only cut off writes itself anew with its next heartbeat.
    """
    with transaction.atomic():
        dead = Worker.objects.filter(pk=worker.pk, heartbeat__lt=fresh_since())
        if not dead.exists():
            raise WorkerLives(worker=worker.name)
        ledger.record(user, Action.WORKER_REMOVED, worker)
        dead.delete()
    recovery.take_back(worker.name)


def requeue(job: Job, user: User) -> None:
    """Take a job from whoever is at it and queue it again, without counting a try. Raises JobEnded.

    What its worker still brings back is dropped: the row no longer carries its token.
    """
    with transaction.atomic():
        row = Job.objects.select_related("run", "trajectory", "attempt").filter(pk=job.pk).first()
        if row is None or row.state != JobState.CLAIMED:
            raise JobEnded(job=job, how=row.state if row is not None else "gone")
        worker = row.worker
        if jobs.is_unwanted(row.pk) and row.queue != LATER:
            execution.cancel(row)
        elif not jobs.put_back(row, count_try=False):
            raise JobEnded(job=job, how="settled in this moment")
        else:
            row.tries -= 1
            engine.mark_queued_again(row)
            if row.queue != LATER:
                transaction.on_commit(lambda: jobs.send(row.pk, row.queue))
        Worker.objects.filter(job=row, heartbeat__lt=fresh_since()).update(job=None)
        ledger.record(user, Action.REQUEUED, row, f"from {worker}")
