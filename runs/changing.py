"""What a person does to a run after its launch: pause, resume, stop one problem, retry what failed.

Each is one transaction that holds the run's row, so of two at once one comes first, and the second finds what the
first left: a double click does nothing twice. Who did what stays as a ``RunChange``. Whoever changes trajectories too
holds those first (``runs.locking``).
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from agent.steps import FinishReason, Reopened
from runs import engine, jobs, locking, stopping
from runs.control_models import Action, RunChange
from runs.errors import NothingToRetry, RunElsewhere, RunOver
from runs.fleet import CPU
from runs.models import Attempt, Job, Run, Trajectory
from runs.reviving import last_step, revive
from runs.states import FINAL, AttemptState, JobKind, JobState, RunState, TrajectoryState

FAILED = Q(state=TrajectoryState.FAILED) | Q(finish_reason=FinishReason.PROPOSER_FAILED.value)
"""Problems that a retry takes up again."""


def note(run: Run, user: User, action: Action, trajectory: Trajectory | None = None, **record: Any) -> RunChange:
    """Keep who did what."""
    return RunChange.objects.create(run=run, trajectory=trajectory, user=user, action=action, record=record)


def held(run: Run) -> Run:
    """The run's row as it is now, held to the end of the transaction. Raises RunElsewhere for an imported one."""
    row = locking.hold_run(run.pk)
    if row.imported is not None:
        raise RunElsewhere(run=row)
    return row


def pause(run: Run, user: User) -> None:
    """Let a run take no new step: what is under way ends and is stored. Twice does nothing; raises RunOver."""
    with transaction.atomic():
        row = held(run)
        if row.state in FINAL or row.cancel_requested is not None:
            raise RunOver(run=row, how=_how(row), right="one that is under way")
        if row.state == RunState.PAUSED:
            return
        Run.objects.filter(pk=row.pk).update(state=RunState.PAUSED, paused=timezone.now(), paused_by=user)
        Job.objects.filter(jobs.HELD_BACK, run=row, state=JobState.QUEUED).update(state=JobState.PAUSED)
        note(row, user, Action.PAUSED)


def resume(run: Run, user: User) -> None:
    """Let a paused run go on where its log stands. Twice does nothing; raises RunOver where it is being cancelled."""
    with transaction.atomic():
        row = held(run)
        if row.state in FINAL or row.cancel_requested is not None:
            raise RunOver(run=row, how=_how(row), right="a paused one")
        if row.state != RunState.PAUSED:
            return
        began = Trajectory.objects.filter(run=row).exclude(state=TrajectoryState.QUEUED).exists()
        started = row.started or (timezone.now() if began else None)
        state = RunState.RUNNING if started else RunState.QUEUED
        Run.objects.filter(pk=row.pk).update(state=state, started=started, paused=None, paused_by=None)
        put_forward(row)
        note(row, user, Action.RESUMED)


def put_forward(run: Run) -> None:
    """Queue again what a pause took out of the queues, and send the hints once the transaction stands."""
    waiting = Job.objects.filter(run=run, state=JobState.PAUSED)
    for key, queue in list(waiting.order_by("pk").values_list("pk", "queue")):
        transaction.on_commit(lambda key=key, queue=queue: jobs.send(key, queue))  # type: ignore[misc]
    waiting.update(state=JobState.QUEUED, sent=None)


def stop_problem(trajectory: Trajectory, user: User) -> None:
    """End one problem as cancelled; the others go on. Twice does nothing; raises RunOver where it has ended."""
    with transaction.atomic():
        one = Trajectory.objects.select_for_update().get(pk=trajectory.pk)
        row = held(trajectory.run)
        if one.stop_requested is not None and one.state not in FINAL:
            return
        if one.state in FINAL or row.cancel_requested is not None:
            how = f"has ended this problem ({one.state})" if one.state in FINAL else "is being cancelled"
            raise RunOver(run=row, how=how, right="a problem that is open")
        Trajectory.objects.filter(pk=one.pk).update(stop_requested=timezone.now(), stopped_by=user)
        note(row, user, Action.STOPPED, one)
        stopping.stop_what_rests(one)


def to_retry(run: Run) -> tuple[int, int]:
    """How many problems failed and how many attempts were lost, of those that a retry takes up. Two queries."""
    lost = Attempt.objects.filter(trajectory__run=run, state=AttemptState.LOST)
    lost = lost.exclude(trajectory__state=TrajectoryState.CANCELLED)
    return Trajectory.objects.filter(FAILED, run=run).count(), lost.count()


def retry(run: Run, user: User) -> tuple[int, int]:
    """Let failed problems go on from their logs, and queue lost attempts again; how many of each.

    What is done stays done. Raises NothingToRetry, and RunOver for a cancelled run.
    """
    with transaction.atomic():
        rows = list(Trajectory.objects.select_for_update().filter(run=run).order_by("pk"))
        row = held(run)
        if row.state == RunState.CANCELLED or row.cancel_requested is not None:
            raise RunOver(run=row, how=_how(row), right="a clone of it")
        failed = set(Trajectory.objects.filter(FAILED, run=row).values_list("pk", flat=True))
        lost = _queue_lost_again([one for one in rows if one.state != TrajectoryState.CANCELLED])
        if not failed and not lost:
            raise NothingToRetry(run=row)
        open_run(row)
        for one in rows:
            if one.pk not in failed and one.pk not in lost:
                continue
            one.run = row
            if one.state in FINAL:
                reopen(one, "failed" if one.pk in failed else "attempts lost")
            elif not jobs.moving(one).exists():
                # One that waits for a post from outside: nothing else would come to its attempts.
                jobs.enqueue(JobKind.ADVANCE, CPU, trajectory=one)
        attempts = sum(lost.values())
        note(row, user, Action.RETRIED, problems=len(failed), attempts=attempts)
    return len(failed), attempts


def _queue_lost_again(rows: list[Trajectory]) -> dict[int, int]:
    """Put lost attempts back to their start: how many of each problem. Their problem's next advance builds them."""
    lost = Attempt.objects.filter(trajectory__in=rows, state=AttemptState.LOST)
    counts: dict[int, int] = {}
    for key in lost.values_list("trajectory_id", flat=True):
        counts[key] = counts.get(key, 0) + 1
    lost.update(state=AttemptState.QUEUED, outcome="", detail="", finished=None, tries=0)
    for key, count in counts.items():
        Trajectory.objects.filter(pk=key).update(attempts_done=F("attempts_done") - count)
    return counts


def open_run(run: Run) -> None:
    """Let an ended run be under way again; one that has not ended stays as it is."""
    Run.objects.filter(pk=run.pk, state__in=FINAL).update(state=RunState.RUNNING, finished=None, reason="")


def reopen(trajectory: Trajectory, why: str) -> None:
    """Let an ended problem go on from the last word of its log. Its ``run`` must be at hand; the caller holds both."""
    last = last_step(trajectory)
    if last is not None:
        engine.append(trajectory, Reopened(why))
    state = TrajectoryState.RUNNING if last is not None else TrajectoryState.QUEUED
    Trajectory.objects.filter(pk=trajectory.pk).update(state=state, finish_reason="", words="", error="")
    revive(trajectory, last)


def _how(run: Run) -> str:
    return f"has ended ({run.state})" if run.state in FINAL else "is being cancelled"
