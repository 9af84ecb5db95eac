"""Audit problems themselves and store what was found: from their inspections, and from runs of a part of each."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from kernels.errors import UserError
from kernels.locks import LockCancelled, machine_lock
from kernels.models import ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import from_json, to_json
from runs.handlers.problem_files import problem_file
from runs.jobs import Lease
from sol.audit.problems.looking import Audited, audit_inspected
from sol.audit.problems.record import ProblemAudit

TOGETHER = 6
"""Problems that one child looks at: it takes seconds to start, and all of them again when it is stopped."""


def store_audit(row: ProblemSize, audit: ProblemAudit) -> None:
    """Store an audit with what lists show of it."""
    row.audit = to_json(audit)
    row.gravest = audit.gravest or ""
    row.flaws = len(audit.flaws)
    row.save(update_fields=["audit", "gravest", "flaws"])


def waiting_for_audit() -> list[ProblemSize]:
    """Inspected sizes that have no audit of the source as it is now."""
    rows = ProblemSize.objects.filter(record__isnull=False, audit__isnull=True).defer("record")
    return [row for row in rows.select_related("problem") if row.digest == row.problem.digest]


def audit_waiting(lease: Lease) -> None:
    """Audit all that wait, some at a time. Raises the lease's reason where it has to stop.

    What cannot be audited holds up nothing behind it; its error is raised once all others are done.
    """
    failed: dict[int, UserError] = {}
    while rows := [row for row in waiting_for_audit() if row.pk not in failed][:TOGETHER]:
        failed |= _audit(rows, lease)
        lease.check()
    for error in failed.values():
        raise error


def _audit(rows: list[ProblemSize], lease: Lease) -> dict[int, UserError]:
    """The errors of those that could not be audited, by their rows' keys; of all where nothing could be begun."""
    failed: dict[int, UserError] = {}

    def seen(place: int, audited: Audited) -> None:
        if isinstance(audited, ProblemAudit):
            store_audit(rows[place], audited)
        else:
            failed[rows[place].pk] = audited

    with ExitStack() as files:
        paths: list[Path] = [files.enter_context(problem_file(row.problem)) for row in rows]
        inspections = [from_json(row.record or {}, Inspection) for row in rows]
        try:
            # What is timed on this machine goes first.
            with machine_lock(exclusive=False, cancelled=lease.stop):
                audit_inspected(paths, inspections, seen=seen, cancelled=lease.stop)
        except LockCancelled as error:
            failed = {row.pk: error for row in rows}
    return failed
