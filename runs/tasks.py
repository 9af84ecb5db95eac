"""The one Celery task: do a job. Its message is a hint; the row decides."""

from __future__ import annotations

from celery import shared_task

from runs import jobs, registration
from runs.execution import run_job


@shared_task(name=jobs.TASK, ignore_result=True)  # type: ignore[untyped-decorator]  # Celery has no types
def execute(job_id: int) -> None:
    """Do the job with this id, if it is still to do."""
    with registration.doing(job_id):
        run_job(job_id, registration.worker_name())
