"""Stopping one problem of a run: it ends as cancelled with who and when, the others go on.

What is under way of it ends within about a second: its lease says so (``jobs.is_unwanted``). Each function runs inside
its caller's transaction.
"""

from __future__ import annotations

from django.utils import timezone

from runs import engine, locking
from runs.fleet import LATER
from runs.models import Attempt, Job, Run, Trajectory
from runs.states import FINAL, RESTING_JOBS, AttemptState, JobState, TrajectoryState


def stop_after(job: Job) -> None:
    """End what a cancelled job belonged to: the whole run where that is being cancelled, else its problem."""
    if job.run is None:
        return
    if job.trajectory is None or Run.objects.filter(pk=job.run.pk, cancel_requested__isnull=False).exists():
        engine.cancel_what_rests(job.run)
    else:
        stop_what_rests(job.trajectory)


def stop_what_rests(trajectory: Trajectory) -> None:
    """Cancel everything of one problem that nobody works on; the problem itself once nothing of it lives."""
    locking.hold_one(trajectory.pk)
    now, mine = timezone.now(), Job.objects.filter(trajectory=trajectory).exclude(queue=LATER)
    mine.filter(state__in=RESTING_JOBS).update(state=JobState.CANCELLED, finished=now)
    if mine.filter(state=JobState.CLAIMED).exists():
        return
    row = Trajectory.objects.select_related("run", "stopped_by").get(pk=trajectory.pk)
    Attempt.objects.filter(trajectory=row).exclude(state__in=FINAL).update(
        state=AttemptState.CANCELLED, finished=now
    )
    who = row.stopped_by.get_username() if row.stopped_by is not None else "somebody who has left"
    open_ones = Trajectory.objects.filter(pk=row.pk).exclude(state__in=FINAL)
    if open_ones.update(state=TrajectoryState.CANCELLED, words=f"stopped by {who}"):
        locking.hold_run(row.run.pk)
        engine.learn(row)
        engine.finish_run_if_over(row.run)
