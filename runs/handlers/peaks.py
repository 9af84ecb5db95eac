"""Measure this machine's peaks, once, with nothing else running."""

from __future__ import annotations

from kernels.locks import machine_lock
from kernels.records import to_json
from runs import jobs
from runs.handlers.bounds import store_bounds
from runs.jobs import Lease
from runs.models import Job
from sol.bounds.host import host_name, measure_host
from sol.models import Device


def _known() -> Device | None:
    return Device.objects.here().filter(kind="cpu", name=host_name()).first()


def measure_and_store(lease: Lease, *, again: bool = False) -> Device:
    """The row of this machine, measured now; whoever waited for another's measurement takes that one."""
    with machine_lock(exclusive=True, cancelled=lease.stop):
        known = _known()
        if known is not None and not again:
            return known
        measured = measure_host(cancelled=lease.stop)
    lease.check()
    return Device.objects.keep(measured.name, measured.kind, to_json(measured))


def host_device(lease: Lease) -> Device:
    """This machine's row; measured first where it never was."""
    return _known() or measure_and_store(lease)


def handle_peaks(job: Job, lease: Lease) -> None:
    """Measure again where asked to, else only when there is no measurement; then bound what is known."""
    device = measure_and_store(lease, again=True) if job.payload.get("again") else host_device(lease)
    store_bounds(device)
    with jobs.settling(job):
        pass
