"""Who works on a run now, and if nobody does, what it waits for and since when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min
from django.utils import timezone

from kernels.targets import Target
from runs import figures
from runs.fleet import CPU, LATER, device_queue, online_workers
from runs.models import Job, Run
from runs.states import JobKind, JobState

DOING = {
    JobKind.PEAKS: "measuring peaks",
    JobKind.INSPECT: "inspecting",
    JobKind.PREPARE: "preparing",
    JobKind.ADVANCE: "choosing the next step",
    JobKind.ASK: "proposing",
    JobKind.BUILD: "building",
    JobKind.EVALUATE: "evaluating",
    JobKind.CROSS_BUILD: "compiling for sm_90a",
}


@dataclass(frozen=True, slots=True)
class Busy:
    """One worker and what it does."""

    worker: str
    queue: str
    doing: str
    subject: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Work of a run that nobody has taken: where it waits, how much, since when, and why."""

    queue: str
    count: int
    since: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Now:
    """The "Now" panel of a run."""

    busy: tuple[Busy, ...]
    waiting: tuple[Waiting, ...]
    idle: int
    missing: tuple[str, ...]


def subject_of(job: Job) -> str:
    """What a job is about, as people name it: ``own/2 #7``."""
    if job.trajectory is None:
        return ""
    slug = job.trajectory.problem.slug
    return f"{slug} #{job.attempt.number}" if job.attempt is not None else slug


def worker_name(name: str) -> str:
    """A worker's name without the machine it runs on, where it has one."""
    return name.partition("@")[0] or name


def now_of(run: Run) -> Now:
    """Workers that do something for this run, and what of it waits. Two queries."""
    moment = timezone.now()
    workers = online_workers()
    busy = tuple(
        Busy(
            worker_name(worker.name), worker.queue, DOING.get(JobKind(worker.job.kind), worker.job.kind),
            subject_of(worker.job),
            (moment - worker.job.claimed).total_seconds() if worker.job.claimed else None,
        )
        for worker in workers
        if worker.job is not None and worker.job.run_id == run.pk
    )  # fmt: skip
    queues = {worker.queue for worker in workers}
    queued = (
        Job.objects.filter(run=run, state=JobState.QUEUED)
        .exclude(queue=LATER)
        .values_list("queue", "created")
    )
    by_queue: dict[str, list[datetime]] = {}
    for queue, created in queued:
        by_queue.setdefault(queue, []).append(created)
    waiting = tuple(
        Waiting(queue, len(moments), min(moments), _why(queue, queues)) for queue, moments in sorted(by_queue.items())
    )
    needed = (CPU, device_queue(Target(run.target)))
    idle = sum(worker.job_id is None and worker.queue in needed for worker in workers)
    return Now(busy, waiting, idle, tuple(queue for queue in needed if queue not in queues))


def _why(queue: str, served: set[str]) -> str:
    if queue not in served:
        return f"no {queue} worker is online"
    return "its workers are busy"


def oldest_waiting() -> dict[str, datetime]:
    """Since when the oldest waiting job of each queue waits. One query."""
    return dict(
        Job.objects.filter(state=JobState.QUEUED)
        .values_list("queue")
        .annotate(oldest=Min("created"))
        .values_list("queue", "oldest")
    )


def doing_words(now: Now) -> str:
    """The panel in one line, for its head."""
    if now.busy:
        return figures.counted(len(now.busy), "worker") + " on it"
    if now.missing:
        return f"no {' and no '.join(now.missing)} worker online"
    return "workers online"
