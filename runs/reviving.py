"""Giving a trajectory the job that moves it, from the last word of its log: after an accident, or because a person
asked for it to go on."""

from __future__ import annotations

from agent.history import NOTES
from kernels.targets import Target
from runs import jobs
from runs.fleet import CPU, asking_queue, preparing_queue
from runs.models import Attempt, Event, Trajectory
from runs.states import FINAL, JobKind


def last_step(trajectory: Trajectory) -> str | None:
    """The kind of the last event that moved it; None before it was prepared. One query.

    Results are left out: they may be written again at any time, and what comes after one is told by its attempt's row.
    """
    steps = Event.objects.filter(trajectory=trajectory).exclude(kind__in=(*NOTES, "measured"))
    steps = steps.order_by("-sequence")
    return steps.values_list("kind", flat=True).first()


def revive(trajectory: Trajectory, last: str | None) -> None:
    """Queue what comes after the ``last`` step; call it only where no living job moves the trajectory.

    An attempt that was queued again comes before an open ask, as in ``engine.advance``.
    """
    attempt = Attempt.objects.filter(trajectory=trajectory).exclude(state__in=FINAL).first()
    if attempt is not None:
        attempt.trajectory = trajectory
        jobs.enqueue(JobKind.BUILD, CPU, attempt=attempt)
    elif last == "asked":
        jobs.enqueue(JobKind.ASK, asking_queue(trajectory.run), trajectory=trajectory)
    elif last is None:
        jobs.enqueue(JobKind.PREPARE, preparing_queue(Target(trajectory.run.target)), trajectory=trajectory)
    else:
        jobs.enqueue(JobKind.ADVANCE, CPU, trajectory=trajectory)
