"""A drained worker ends what it does and takes nothing more: its row says so, and ``jobs.claim`` heeds it.

So that hints do not pile up at somebody who will not take them, the worker also leaves its queues until its drain is
over. Celery's consumer runs in the main thread; other threads ask it to change by ``call_soon``.
"""

from __future__ import annotations

import logging
from typing import Any

from runs import jobs
from runs.models import Job, Worker

logger = logging.getLogger(__name__)


class _Aside:
    """This process's consumer, and the queues that it has left."""

    consumer: Any = None
    queues: tuple[str, ...] = ()


def attach(consumer: Any) -> None:
    """Remember Celery's consumer; its worker has just begun to take from its queues."""
    _Aside.consumer, _Aside.queues = consumer, ()


def is_drained(worker: str) -> bool:
    """Whether a worker may take nothing. One query."""
    return Worker.objects.filter(name=worker, drained__isnull=False).exists()


def step_aside(job_id: int) -> None:
    """Leave the queues, and give a hint that had come already to somebody else."""
    consumer = _Aside.consumer
    if consumer is not None and not _Aside.queues:
        _Aside.queues = tuple(consumer.app.amqp.queues.consume_from)
        logger.warning("drained: leaving %s", ", ".join(_Aside.queues))
        for queue in _Aside.queues:
            consumer.call_soon(consumer.cancel_task_queue, queue)
    job = Job.objects.filter(pk=job_id).only("queue").first()
    if job is not None:
        jobs.send(job_id, job.queue)


def come_back(worker: str) -> None:
    """Take from the queues again once the drain is over; does nothing before. One query while aside, else none."""
    consumer, queues = _Aside.consumer, _Aside.queues
    if not queues or is_drained(worker):
        return
    _Aside.queues = ()
    logger.warning("no longer drained: back to %s", ", ".join(queues))
    for queue in queues:
        consumer.call_soon(consumer.add_task_queue, queue)
