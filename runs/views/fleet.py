"""Workers and queues."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from runs.access import SignedInRequest
from runs.fleet import CPU, LATER, queue_states
from runs.models import Job, Worker
from runs.presence import DOING, oldest_waiting, subject_of
from runs.states import JobKind, JobState


def fleet(request: SignedInRequest) -> HttpResponse:
    """Who is online, what each does, and what waits."""
    now = timezone.now()
    fresh = now - timedelta(seconds=settings.WORKER_OFFLINE_AFTER_S)
    workers = Worker.objects.select_related("job__run", "job__attempt", "job__trajectory__problem").defer(
        "job__trajectory__bounds", "job__trajectory__problem__source"
    )
    rows = [
        {
            "worker": worker,
            "online": worker.heartbeat >= fresh,
            "doing": DOING.get(JobKind(worker.job.kind), worker.job.kind) if worker.job else "",
            "subject": subject_of(worker.job) if worker.job else "",
        }
        for worker in workers.order_by("queue", "name")
    ]
    waiting = Job.objects.filter(state=JobState.QUEUED).order_by().values_list("queue", flat=True).distinct()
    names = {CPU, LATER, "host", *waiting, *(row["worker"].queue for row in rows)}  # type: ignore[attr-defined]
    states = queue_states(tuple(sorted(names)))
    context = {
        "rows": [row for row in rows if row["online"]],
        "offline": [row for row in rows if not row["online"]],
        "queues": list(states.values()),
        "oldest": oldest_waiting(),
        "later": LATER,
        "now": now,
    }
    return render(request, "runs/fleet.html", context)
