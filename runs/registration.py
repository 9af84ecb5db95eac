"""A worker says that it lives: its row, its heartbeat, and what it does now.

The Celery parent never imports torch; what a worker knows of its machine comes from cheap reads.
"""

from __future__ import annotations

import logging
import os
import platform
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery.signals import worker_ready, worker_shutdown
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.utils import timezone

from kernels.profiling import ncu
from kernels.records import to_json
from kernels.targets import Target
from kernels.toolchain import available
from runs import draining, recovery, telemetry
from runs.cards import card_name, register_card
from runs.fleet import CPU
from runs.models import Job, Worker
from runs.states import JobKind

logger = logging.getLogger(__name__)

NAME_VARIABLE = "MUCUTLASS_WORKER"
QUEUE_VARIABLE = "MUCUTLASS_QUEUE"

_READ_EVERY_S = 15.0
_TIMED = (JobKind.EVALUATE, JobKind.PROFILE, JobKind.PEAKS, JobKind.PREPARE)

_stopped = threading.Event()


def worker_name() -> str:
    """This worker's name, as ``host 0 on box``."""
    return os.environ.get(NAME_VARIABLE) or f"worker {os.getpid()} on {socket.gethostname()}"


def facts_of_this_machine(queue: str) -> dict[str, str]:
    """What the fleet page shows of a worker."""
    facts = {"cpu": telemetry.processor(), "cores": str(os.cpu_count() or 1), "python": platform.python_version()}
    facts = {name: value for name, value in facts.items() if value}
    if queue == CPU:
        for target in Target:
            facts[f"compiler for {target.value}"] = available(target) or "none"
    if queue.startswith("cuda."):
        facts["card"] = card_name() or "none"
        profiler = ncu.find()
        facts["profiler"] = profiler.name if profiler is not None else "none"
    return facts


@worker_ready.connect  # type: ignore[untyped-decorator]  # Celery has no types
def register(sender: Any = None, **_: Any) -> None:
    """Write this worker's row, take back what a predecessor of its name left undone, start the heartbeat."""
    queue, now = _queue(), timezone.now()
    row = {
        "queue": queue,
        "process_id": os.getpid(),
        "facts": facts_of_this_machine(queue),
        "readings": to_json(telemetry.read_machine(queue)),
        "started": now,
    }
    Worker.objects.update_or_create(name=worker_name(), defaults={**row, "job": None, "heartbeat": now})
    if queue.startswith("cuda."):
        register_card()
    recovery.take_back(worker_name())
    draining.attach(sender)
    _stopped.clear()
    threading.Thread(target=_beats, args=(row,), name="heartbeat", daemon=True).start()


def _queue() -> str:
    return os.environ.get(QUEUE_VARIABLE, CPU)


@worker_shutdown.connect  # type: ignore[untyped-decorator]  # Celery has no types
def deregister(**_: Any) -> None:
    """Remove the row of a worker that ends in order."""
    _stopped.set()
    Worker.objects.filter(name=worker_name(), process_id=os.getpid()).delete()


def _beats(row: dict[str, Any]) -> None:
    read = time.monotonic()
    while not _stopped.wait(settings.WORKER_HEARTBEAT_S):
        try:
            if time.monotonic() - read >= _READ_EVERY_S and not _measuring():
                read = time.monotonic()
                row["readings"] = to_json(telemetry.read_machine(row["queue"]))
            beat(row)
            draining.come_back(worker_name())
        except DatabaseError:
            logger.warning("the heartbeat could not be written", exc_info=True)
            connection.close()


def beat(row: dict[str, Any]) -> None:
    """Say that this worker lives. A row that was removed meanwhile, since nothing was heard of it, is written anew."""
    told = {"heartbeat": timezone.now(), "readings": row["readings"]}
    if not Worker.objects.filter(name=worker_name()).update(**told):
        Worker.objects.update_or_create(name=worker_name(), defaults={**row, **told})


def _measuring() -> bool:
    """Whether this worker times something now: nothing may read its card beside that."""
    return Worker.objects.filter(name=worker_name(), job__kind__in=_TIMED).exists()


@contextmanager
def doing(job_id: int) -> Iterator[None]:
    """Show the job in this worker's row while it is under way."""
    mine = Worker.objects.filter(name=worker_name())
    if Job.objects.filter(pk=job_id).exists():
        mine.update(job_id=job_id, heartbeat=timezone.now())
    try:
        yield
    finally:
        mine.update(job=None, heartbeat=timezone.now())
