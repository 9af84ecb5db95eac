"""Look at problems in a child process and store what was found, or why nothing was; then look for their flaws."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings

from kernels.errors import UserError
from kernels.models import Problem, ProblemSize
from kernels.problems.inspect import LIMITS, inspect
from kernels.problems.inspection import Inspection
from kernels.records import to_json
from runs import jobs
from runs.fleet import LATER
from runs.handlers.bounds import store_bound
from runs.handlers.flaws import audit_waiting
from runs.handlers.problem_files import problem_file
from runs.jobs import Lease
from runs.models import Job
from sol.bounds import count
from sol.bounds.kinds import dominant_kind
from sol.models import Device


def store_inspection(problem: Problem, size: str, found: Inspection | UserError) -> ProblemSize:
    """Store what an inspection gave, with the problem's work summed up for lists."""
    fields: dict[str, object] = {"digest": problem.digest, "record": None, "error": "", "detail": "",
              "audit": None, "gravest": "", "flaws": None}  # fmt: skip
    if isinstance(found, UserError):
        fields |= {"error": found.slug(), "detail": str(found), "flops": None, "bytes": None, "kind": ""}
    else:
        fields["record"] = to_json(found)
        if found.graph is None:
            fields |= {"error": "graph-not-traced", "detail": found.graph_error or ""}
        else:
            work = count(found)
            fields |= {"flops": work.flops, "bytes": work.bytes, "kind": dominant_kind(work)}
    row, _ = ProblemSize.objects.update_or_create(problem=problem, size=size, defaults=fields)
    return row


def inspected(problem: Problem, size: str, lease: Lease) -> ProblemSize:
    """The row of this problem at this size; looked at now where its source is new."""
    row = ProblemSize.objects.filter(problem=problem, size=size, digest=problem.digest).first()
    if row is not None:
        return row
    found: Inspection | UserError
    limits = replace(LIMITS, seconds=settings.PROBLEM_TIME_LIMIT_S)
    with problem_file(problem) as path:
        try:
            found = inspect(path, size, limits=limits, cancelled=lease.stop)
        except UserError as error:
            lease.check()
            found = error
    return store_inspection(problem, size, found)


def handle_inspect(job: Job, lease: Lease) -> None:
    """Inspect every problem that has not been, one after another, then audit them; gives way when other work comes."""
    devices = list(Device.objects.here().filter(kind="cpu"))
    for problem in Problem.objects.all():
        for size in problem.sizes:
            row = inspected(problem, size, lease)
            for device in devices:
                if not row.problem.bounds.filter(size=size, device=device).exists():
                    store_bound(row, device)
            if job.queue == LATER and lease.stop():
                lease.check()
    audit_waiting(lease)
    with jobs.settling(job):
        pass
