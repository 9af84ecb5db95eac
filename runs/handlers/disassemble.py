"""Make the PTX or the SASS of one unit of an attempt and keep it in the build cache, beside the unit's object."""

from __future__ import annotations

from django.conf import settings

from kernels.errors import UserError
from kernels.locks import machine_lock
from kernels.toolchain import Cache
from kernels.toolchain.listings import Listing, make
from runs import jobs
from runs.errors import NothingToDisassemble
from runs.handlers.subjects import attempt_of
from runs.jobs import Lease
from runs.listings import unit_of
from runs.models import Attempt, Job


def handle_disassemble(job: Job, lease: Lease) -> None:
    """Make what the job's payload names; what stands in the way is kept as the job's error, for the page."""
    attempt = attempt_of(job)
    try:
        _make(attempt, job.payload, lease)
    except UserError as error:
        lease.check()
        with jobs.settling(job):
            Job.objects.filter(pk=job.pk).update(error=str(error))
        return
    with jobs.settling(job):
        pass


def _make(attempt: Attempt, payload: dict[str, str], lease: Lease) -> None:
    built = unit_of(attempt, payload["unit"])
    if built is None:
        raise NothingToDisassemble(attempt=attempt, unit=payload["unit"])
    with machine_lock(exclusive=False, cancelled=lease.stop):
        make(built, Listing(payload["listing"]), Cache(settings.BUILD_CACHE_DIR), lease.stop)
    lease.check()
