"""The one Celery task: do a job. Its message is a hint; the row decides."""

from __future__ import annotations

from celery import shared_task

from runs import draining, jobs, registration, turns
from runs.execution import run_job

_TRIES = 5
"""Another worker may claim the chosen job first; the hint then stands for the next one."""


@shared_task(name=jobs.TASK, ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def execute(job_id: int) -> None:
    """Do the job with this id if it is still to do, or the one of its run whose turn it is; nothing while drained."""
    for _ in range(_TRIES):
        if draining.is_drained(registration.worker_name()):
            draining.step_aside(job_id)
            return
        chosen = turns.job_for(job_id)
        if chosen is None:
            return
        with registration.doing(chosen):
            if run_job(chosen, registration.worker_name()):
                return
