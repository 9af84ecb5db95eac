"""Which workers are online, by queue, and what waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from kernels.targets import Target
from runs.models import Job, Run, Worker
from runs.states import JobState

CPU = "cpu"
"""The queue of everything that needs no device: preparing, advancing, asking a search, building."""
MODEL_PREFIX = "openai:"
"""A run's proposer begins so where it is a language model; the model's name follows."""
MODEL = "model"
"""The queue of asks that wait for a language model: they take minutes and no machine time."""
LATER = "later"
"""The queue of work that waits until nothing else is to do, and gives way when something comes."""


def device_queue(target: Target) -> str:
    """The queue of the workers that can measure ``target``: whose card runs it, as each was told when it started."""
    return "host" if target is Target.HOST else f"cuda.{target.value}"


def asking_queue(run: Run) -> str:
    """Where a run's questions are answered."""
    return MODEL if run.proposer.startswith(MODEL_PREFIX) else CPU


def preparing_queue(target: Target) -> str:
    """Where a problem is prepared: on a card's own worker for a card, since its bounds are that card's."""
    return CPU if target is Target.HOST else device_queue(target)


@dataclass(frozen=True, slots=True)
class QueueState:
    """One queue as the launch and run pages show it: ``online`` are its workers that take work."""

    name: str
    online: int
    busy: int
    waiting: int

    @property
    def idle(self) -> int:
        """Workers with nothing to do."""
        return self.online - self.busy


def online_workers() -> list[Worker]:
    """Workers whose heartbeat is fresh, with the job each does."""
    fresh = timezone.now() - timedelta(seconds=settings.WORKER_OFFLINE_AFTER_S)
    return list(
        Worker.objects.filter(heartbeat__gte=fresh)
        .select_related("job__attempt", "job__trajectory__problem", "job__run")
        .order_by("queue", "name")
    )


def queue_states(names: tuple[str, ...]) -> dict[str, QueueState]:
    """The state of each queue of ``names``; a queue nobody serves has ``online`` 0. Two queries."""
    workers = [worker for worker in online_workers() if worker.drained is None]
    waiting = dict(
        Job.objects.filter(state=JobState.QUEUED, queue__in=names)
        .values_list("queue")
        .annotate(count=Count("id"))
        .values_list("queue", "count")
    )
    return {
        name: QueueState(
            name=name,
            online=sum(worker.queue == name for worker in workers),
            busy=sum(worker.queue == name and worker.job_id is not None for worker in workers),
            waiting=waiting.get(name, 0),
        )
        for name in names
    }
