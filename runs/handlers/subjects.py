"""What a job is about, read afresh with everything its handler needs. A job without it is a bug, said as such."""

from __future__ import annotations

from runs.models import Attempt, Job, Trajectory


def trajectory_of(job: Job) -> Trajectory:
    """The job's trajectory with its run and problem."""
    if job.trajectory_id is None:
        raise ValueError(f"{job} has no trajectory")
    return Trajectory.objects.select_related("run", "problem").get(pk=job.trajectory_id)


def attempt_of(job: Job) -> Attempt:
    """The job's attempt with its kernel, builds, run and problem."""
    if job.attempt_id is None:
        raise ValueError(f"{job} has no attempt")
    related = ("kernel", "build", "cross_build", "trajectory__run", "trajectory__problem")
    return Attempt.objects.select_related(*related).get(pk=job.attempt_id)
