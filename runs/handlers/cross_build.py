"""Compile a kernel that was measured here for the card as well: built, its resources reported, not measured."""

from __future__ import annotations

from kernels.dsl import ProgramErrors
from kernels.errors import UserError
from kernels.targets import Target
from kernels.toolchain import available
from runs import jobs
from runs.handlers.build import compile_kernel, store_build
from runs.handlers.subjects import attempt_of
from runs.jobs import Lease
from runs.models import Job


def handle_cross_build(job: Job, lease: Lease) -> None:
    """Build the job's attempt for sm_90a, where this machine has nvcc and the program is legal there."""
    attempt = attempt_of(job)
    if available(Target.SM90A) is None:
        _settle(job, "no nvcc on this machine")
        return
    try:
        compiled = compile_kernel(attempt.kernel, attempt.trajectory, Target.SM90A, lease)
    except (ProgramErrors, UserError) as error:
        lease.check()
        _settle(job, str(error))
        return
    if compiled is None:
        _settle(job, "there is nothing to compile of this language")
        return
    with jobs.settling(job):
        attempt.cross_build = store_build(attempt, attempt.trajectory, Target.SM90A, compiled)
        attempt.save(update_fields=["cross_build"])


def _settle(job: Job, words: str) -> None:
    with jobs.settling(job):
        Job.objects.filter(pk=job.pk).update(error=words)
