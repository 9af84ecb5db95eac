"""Put an open question to the run's proposer and store its answer."""

from __future__ import annotations

from agent.history import last_step
from agent.steps import Asked
from runs import answering, engine, jobs, outside
from runs.fleet import CPU
from runs.handlers.subjects import trajectory_of
from runs.jobs import Lease
from runs.models import Job
from runs.states import JobKind


def handle_ask(job: Job, lease: Lease) -> None:
    """Answer the trajectory's last ask. Where candidates come from outside, it stays open while none was posted."""
    trajectory = trajectory_of(job)
    if outside.takes_posts(trajectory.run):
        with jobs.settling(job):
            outside.deliver(trajectory)
        return
    run, history = trajectory.run, engine.history_of(trajectory)
    asked = last_step(history)
    if not isinstance(asked, Asked):
        raise TypeError(f"{trajectory}: the log ends with {asked and asked.kind}, not with a question")
    answered = answering.answer(trajectory, engine.settings_of(run), history, asked.ask, lease)
    lease.check()
    with jobs.settling(job):
        engine.append(trajectory, answered)
        jobs.enqueue(JobKind.ADVANCE, CPU, trajectory=trajectory)
