"""Put an open question to the run's proposer and store its answer."""

from __future__ import annotations

from agent.proposers import proposer
from agent.steps import Asked
from runs import engine, jobs
from runs.fleet import CPU
from runs.handlers.subjects import trajectory_of
from runs.jobs import Lease
from runs.models import Job
from runs.states import JobKind


def handle_ask(job: Job, lease: Lease) -> None:
    """Answer the trajectory's last ask."""
    trajectory = trajectory_of(job)
    run, history = trajectory.run, engine.history_of(trajectory)
    asked = history[-1]
    if not isinstance(asked, Asked):
        raise TypeError(f"{trajectory}: the log ends with {asked.kind}, not with a question")
    answered = proposer(run.proposer).answer(engine.settings_of(run), history, asked.ask)
    lease.check()
    with jobs.settling(job):
        engine.append(trajectory, answered)
        jobs.enqueue(JobKind.ADVANCE, CPU, trajectory=trajectory)
