"""Workers, cards and queues, what changes of them, and what an admin does to them."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from kernels.errors import UserError
from runs import fleet_control
from runs.access import SignedInRequest
from runs.fleet import LATER
from runs.fleet_page import Fleet
from runs.models import Job, Worker
from runs.roles import Right, require


@require_safe
def fleet(request: SignedInRequest) -> HttpResponse:
    """Who is online, what each does, and what waits."""
    return render(request, "fleet/page.html", {"fleet": Fleet(), "later": LATER})


@require_safe
def fleet_live(request: SignedInRequest) -> HttpResponse:
    """The heartbeats, and everything else where it is not what the page says in ``was``."""
    seen = Fleet()
    changed = request.GET.get("was", "") != seen.version
    context = {"fleet": seen, "later": LATER, "live": True, "changed": changed}
    return render(request, "fleet/live.html", context)


@require_POST
def worker_drain(request: SignedInRequest, pk: int) -> HttpResponse:
    """Let a worker end what it does and take nothing more."""
    return _to_worker(request, pk, fleet_control.drain)


@require_POST
def worker_undrain(request: SignedInRequest, pk: int) -> HttpResponse:
    """Let it take work again."""
    return _to_worker(request, pk, fleet_control.undrain)


@require_POST
def worker_remove(request: SignedInRequest, pk: int) -> HttpResponse:
    """Forget a dead worker."""
    return _to_worker(request, pk, fleet_control.remove)


@require_POST
def job_requeue(request: SignedInRequest, pk: int) -> HttpResponse:
    """Take a job from its worker and queue it again."""
    require(request.user, Right.ADMINISTER)
    job = get_object_or_404(Job, pk=pk)
    return _done(request, lambda: fleet_control.requeue(job, request.user))


def _to_worker(request: SignedInRequest, pk: int, act: Callable[..., None]) -> HttpResponse:
    require(request.user, Right.ADMINISTER)
    worker = get_object_or_404(Worker, pk=pk)
    return _done(request, lambda: act(worker, request.user))


def _done(request: SignedInRequest, work: Callable[[], None]) -> HttpResponse:
    try:
        work()
    except UserError as error:
        said = str(error)
        messages.error(request, f"{said[0].upper()}{said[1:]}.")
    return redirect("fleet")
