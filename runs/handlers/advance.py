"""Ask the controller what to do next, and do it: one transaction with the end of the job."""

from __future__ import annotations

from runs import engine, jobs
from runs.handlers.subjects import trajectory_of
from runs.jobs import Lease
from runs.models import Job


def handle_advance(job: Job, lease: Lease) -> None:
    """Take one step of the job's trajectory."""
    with jobs.settling(job):
        trajectory = trajectory_of(job)
        engine.advance(trajectory)
