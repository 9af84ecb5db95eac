"""Whose job a hint stands for: of a steered run's jobs that wait for the same worker, the one whose turn it is.

The rule is ``agent.schedule``'s. A hint is as good as any other of its run and queue, so there are as many turns as
hints and no job is left without one. Without steering, in a run whose problems go as listed, and for jobs of no run, a
hint stands for its own job: jobs are made in the order of the problems, so their turns come round in that order.
"""

from __future__ import annotations

from agent.schedule import Waiting, in_turn
from runs.fleet import LATER
from runs.models import Job
from runs.states import JobState, Order


def job_for(hint: int) -> int | None:
    """The job to claim for the hint of job ``hint``; None where nothing that it may stand for waits. Two queries."""
    hinted = Job.objects.select_related("run").filter(pk=hint).first()
    if hinted is None:
        return None
    run = hinted.run
    if run is None or not run.steering or run.order != Order.HEADROOM or hinted.queue == LATER:
        return hint if hinted.state == JobState.QUEUED else None
    return next(iter(in_turn(_waiting(run.pk, hinted.queue))), None)


def _waiting(run: int, queue: str) -> list[Waiting]:
    """The run's queued jobs on a queue; one that belongs to no problem counts as never measured."""
    rows = Job.objects.filter(run_id=run, queue=queue, state=JobState.QUEUED).values_list(
        "pk", "trajectory__sol_s", "trajectory__best_s", "trajectory__attempts_done", "trajectory__best__number"
    )
    return [
        Waiting(
            key=key,
            gap=best_s / sol_s if best_s and sol_s else None,
            attempts=done or 0,
            idle=max(0, (done or 0) - (best or 0)),
            place=key,
        )
        for key, sol_s, best_s, done, best in rows
    ]
