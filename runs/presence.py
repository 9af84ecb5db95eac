"""Who works on a run now, and if nobody does, what it waits for and since when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kernels.targets import Target
from runs.fleet import CPU, LATER, asking_queue, device_queue, online_workers
from runs.models import Job, Run, Worker
from runs.states import JobKind, JobState

SLOTS = 12
"""Workers listed one by one; of a larger fleet, those on this run first."""

DOING = {
    JobKind.PEAKS: "measuring peaks",
    JobKind.INSPECT: "inspecting",
    JobKind.PREPARE: "preparing",
    JobKind.ADVANCE: "choosing the next step",
    JobKind.ASK: "proposing",
    JobKind.BUILD: "building",
    JobKind.EVALUATE: "evaluating",
    JobKind.CROSS_BUILD: "compiling for sm_90a",
    JobKind.DISASSEMBLE: "making PTX or SASS",
    JobKind.PROFILE: "profiling",
}


@dataclass(frozen=True, slots=True)
class Slot:
    """One worker that can serve a run. ``mine`` where it does; ``since`` is when it took what it does."""

    worker: str
    queue: str
    mine: bool
    doing: str
    subject: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """Work of a run that nobody has taken: where it waits, how much, since when, and why."""

    queue: str
    count: int
    since: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Now:
    """The "Now" panel of a run: a line a worker, what waits, and queues that it needs and nobody serves."""

    slots: tuple[Slot, ...]
    waiting: tuple[Waiting, ...]
    missing: tuple[str, ...]
    hidden: int = 0

    @property
    def mine(self) -> int:
        """How many workers are on it."""
        return sum(slot.mine for slot in self.slots)


def subject_of(job: Job) -> str:
    """What a job is about, as people name it: ``own/2 #7``."""
    if job.trajectory is None:
        return ""
    slug = job.trajectory.problem.slug
    return f"{slug} #{job.attempt.number}" if job.attempt is not None else slug


def worker_name(name: str) -> str:
    """A worker's name without the machine it runs on, where it has one."""
    return name.partition("@")[0] or name


def _slot(worker: Worker, run: Run) -> Slot:
    name, job = worker_name(worker.name), worker.job
    if job is None:
        return Slot(name, worker.queue, False, "idle", "", None)
    doing = DOING.get(JobKind(job.kind), job.kind)
    if job.run_id == run.pk:
        return Slot(name, worker.queue, True, doing, subject_of(job), job.claimed)
    return Slot(name, worker.queue, False, "other work", str(job.run) if job.run_id else doing, job.claimed)


def now_of(run: Run) -> Now:
    """Workers that can serve this run and what of it waits. Two queries."""
    workers, needed = online_workers(), {CPU, asking_queue(run), device_queue(Target(run.target))}
    served = {worker.queue for worker in workers if worker.drained is None}
    drained = {worker.queue for worker in workers} - served
    slots = [_slot(worker, run) for worker in workers if worker.queue in needed]
    slots += [_slot(w, run) for w in workers if w.queue not in needed and w.job and w.job.run_id == run.pk]
    queued = Job.objects.filter(run=run, state=JobState.QUEUED).exclude(queue=LATER).values_list("queue", "created")
    by_queue: dict[str, list[datetime]] = {}
    for queue, created in queued:
        by_queue.setdefault(queue, []).append(created)
    waiting = tuple(
        Waiting(queue, len(moments), min(moments), _why(queue, served, drained))
        for queue, moments in sorted(by_queue.items())
    )
    missing = tuple(queue for queue in sorted(needed) if queue not in served)
    shown = tuple(sorted(slots, key=lambda slot: not slot.mine)[:SLOTS]) if len(slots) > SLOTS else tuple(slots)
    return Now(shown, waiting, missing, len(slots) - len(shown))


def _why(queue: str, served: set[str], drained: set[str]) -> str:
    if queue in drained:
        return f"every {queue} worker that is online is drained"
    if queue not in served:
        return f"no {queue} worker is online"
    return "its workers are busy"
