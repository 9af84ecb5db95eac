"""The fleet as its page shows it: workers with what each does and did, cards, queues, and what changed since."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from django.db.models import Count, Min
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from kernels.records import from_json
from runs.fleet import CPU, LATER
from runs.fleet_control import fresh_since
from runs.models import Job, Worker
from runs.presence import DOING, subject_of
from runs.states import JobKind, JobState
from runs.telemetry import CardReading, MachineReading

_LOST = (JobState.FAILED, JobState.LOST)
_ENDED = (JobState.DONE, *_LOST)
NOT_READ = "its heartbeat has not read its machine yet"


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """One worker. ``done`` and ``failed`` count the jobs that it ended in the last hour."""

    worker: Worker
    online: bool
    done: int
    failed: int
    reading: MachineReading | None

    @property
    def job(self) -> Job | None:
        """What it is at."""
        return self.worker.job

    @property
    def state(self) -> str:
        """In one word: offline, drained, draining, idle, or what it does."""
        if not self.online:
            return "offline"
        if self.worker.drained is not None:
            return "draining" if self.job is not None else "drained"
        return self.doing or "idle"

    @property
    def icon(self) -> str:
        """The sign of its state."""
        signs = {"offline": "lost", "drained": "stop", "draining": "stop", "idle": "done"}
        return signs.get(self.state, "run")

    @property
    def doing(self) -> str:
        """What it does, in words; empty where nothing."""
        return DOING.get(JobKind(self.job.kind), self.job.kind) if self.job is not None else ""

    @property
    def subject(self) -> str:
        """What its job is about."""
        return subject_of(self.job) if self.job is not None else ""

    @property
    def link(self) -> str:
        """The page of what it is at; empty where that has none."""
        job = self.job
        if job is None or job.run_id is None:
            return ""
        if job.attempt is not None and job.trajectory is not None:
            return reverse("candidate", args=[job.run_id, job.trajectory.problem.slug, job.attempt.number])
        return reverse("run", args=[job.run_id])

    @property
    def held(self) -> bool:
        """Whether its job can be taken from it."""
        return self.job is not None and self.job.state == JobState.CLAIMED

    @property
    def read_at(self) -> datetime | None:
        """When its machine was read."""
        return parse_datetime(self.reading.at) if self.reading is not None else None

    @property
    def card(self) -> CardReading | None:
        """What its card said of itself."""
        return self.reading.card if self.reading is not None else None

    @property
    def why_no_card(self) -> str:
        """Why there is no reading of a card."""
        return self.reading.why if self.reading is not None else NOT_READ

    @property
    def measures_on_card(self) -> bool:
        """Whether its queue is a card's."""
        return self.worker.queue.startswith("cuda.")


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue: its workers that take work, those with nothing to do, what waits and since when."""

    name: str
    online: int
    idle: int
    drained: int
    waiting: int
    oldest: datetime | None


class Fleet:
    """Everything on the page. Three queries."""

    @cached_property
    def rows(self) -> list[WorkerRow]:
        """All workers, by queue and name."""
        fresh, hour = fresh_since(), self._hour
        workers = Worker.objects.select_related("job__run", "job__attempt", "job__trajectory__problem").defer(
            "job__trajectory__bounds", "job__trajectory__problem__source", "job__trajectory__seed_program"
        )
        return [
            WorkerRow(
                one,
                one.heartbeat >= fresh,
                hour.get((one.name, True), 0),
                hour.get((one.name, False), 0),
                from_json(one.readings, MachineReading) if one.readings else None,
            )
            for one in workers.order_by("queue", "name")
        ]

    @cached_property
    def _hour(self) -> dict[tuple[str, bool], int]:
        """Jobs that ended in the last hour, by worker and whether well.

        By when alone: with their states in the query, SQLite would walk every job of these.
        """
        since = timezone.now() - timedelta(hours=1)
        found = Job.objects.filter(finished__gte=since).order_by()
        counts: dict[tuple[str, bool], int] = {}
        for name, state, count in found.values_list("worker", "state").annotate(n=Count("pk")):
            if state in _ENDED:
                key = (name, state == JobState.DONE)
                counts[key] = counts.get(key, 0) + count
        return counts

    @property
    def online(self) -> list[WorkerRow]:
        """Workers that answer."""
        return [row for row in self.rows if row.online]

    @property
    def offline(self) -> list[WorkerRow]:
        """Workers that have not answered for a while."""
        return [row for row in self.rows if not row.online]

    @property
    def cards(self) -> list[WorkerRow]:
        """Workers that measure on a card, with what its driver told."""
        return [row for row in self.online if row.measures_on_card]

    @cached_property
    def queues(self) -> list[QueueRow]:
        """Every queue that has a worker or work, and those that every installation has."""
        waits = {
            name: (count, oldest)
            for name, count, oldest in Job.objects.filter(state=JobState.QUEUED)
            .order_by()
            .values_list("queue")
            .annotate(n=Count("pk"), oldest=Min("created"))
        }
        names = {CPU, LATER, "host", *waits, *(row.worker.queue for row in self.rows)}
        return [self._queue(name, *waits.get(name, (0, None))) for name in sorted(names)]

    def _queue(self, name: str, waiting: int, oldest: datetime | None) -> QueueRow:
        mine = [row for row in self.online if row.worker.queue == name]
        taking = [row for row in mine if row.worker.drained is None]
        idle = sum(row.job is None for row in taking)
        return QueueRow(name, len(taking), idle, len(mine) - len(taking), waiting, oldest)

    @cached_property
    def version(self) -> str:
        """A word that changes when anything but a heartbeat did."""
        told = [
            [
                [row.worker.pk, row.state, row.worker.job_id, row.done, row.failed, row.worker.readings]
                for row in self.rows
            ],
            [[one.name, one.online, one.idle, one.waiting, str(one.oldest)] for one in self.queues],
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
