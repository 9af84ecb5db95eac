"""Profiles of attempts: which row belongs to an attempt, where its report lies, and which reports have to go.

A profile is a row of its own, so taking one again changes no evaluation. Reports lie in one folder with a cap; the
oldest go first, their records stay. Nothing is profiled here.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings

from kernels.models import Profile
from kernels.profiling.record import Profile as Record
from kernels.profiling.record import ProfileOutcome
from kernels.records import to_json
from kernels.targets import Target
from runs.fleet import device_queue, online_workers
from runs.models import Attempt, Job
from runs.states import JobKind

COUNTERS = "counters"
"""The fact of a worker that says whether its card's counters can be read; absent until somebody tried."""
READABLE = "readable"
_NAME = re.compile(r"[0-9a-f]{32}\.ncu-rep")


def reports_folder() -> Path:
    """Where reports are kept; made when first needed."""
    folder: Path = settings.PROFILE_DIR
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def report_file(profile: Profile) -> Path | None:
    """Where a profile's report lies; None where it was not kept, or had to go."""
    if not _NAME.fullmatch(profile.report):
        return None
    path = Path(settings.PROFILE_DIR) / profile.report
    return path if path.is_file() else None


def store(attempt: Attempt, record: Record, metric_set: str, report: str) -> Profile:
    """The row of a profile that was taken or tried; ``report`` is its report's name where one was kept."""
    trajectory = attempt.trajectory
    return Profile.objects.create(
        kernel=attempt.kernel,
        build=attempt.build,
        problem=trajectory.problem,
        size=trajectory.size,
        target=trajectory.run.target,
        policy=trajectory.run.policy,
        metric_set=metric_set,
        machine=record.method.card if record.method is not None else "",
        outcome=record.outcome,
        reason=record.reason.value if record.reason is not None else "",
        record=to_json(record),
        report=report,
    )


def profiles_of(attempt: Attempt) -> list[Profile]:
    """Every profile of the attempt's kernel as it was built for its run, the latest first.

    One that an archive brought belongs to the run of that archive alone.
    """
    run, trajectory = attempt.trajectory.run, attempt.trajectory
    origin = run.imported
    rows = Profile.objects.filter(
        kernel_id=attempt.kernel_id,
        problem_id=trajectory.problem_id,
        size=trajectory.size,
        target=run.target,
        policy=run.policy,
        elsewhere=origin.digest if origin is not None else "",
    )
    return list(rows.order_by("-pk")[:20])


def shown_of(rows: Iterable[Profile]) -> Profile | None:
    """The profile to show: the latest with figures, else the latest."""
    found = list(rows)
    measured = (row for row in found if row.outcome == ProfileOutcome.MEASURED)
    return next(measured, found[0] if found else None)


def can_be_profiled(attempt: Attempt) -> bool:
    """Whether there is a call to profile: the attempt came to be evaluated, on a card."""
    return Target(attempt.trajectory.run.target).is_cuda and attempt.evaluation_id is not None


def profile_jobs(attempt: Attempt) -> list[Job]:
    """Every job that was to profile the attempt, the latest first."""
    return list(Job.objects.filter(attempt=attempt, kind=JobKind.PROFILE).order_by("-pk"))


def why_no_counters(target: Target) -> str:
    """What online workers say that keeps them from reading counters; empty where one may, or nobody has tried."""
    mine = [worker for worker in online_workers() if worker.queue == device_queue(target)]
    told = [str(worker.facts.get(COUNTERS, "")) for worker in mine]
    return told[0] if told and all(words and words != READABLE for words in told) else ""


def make_room(folder: Path, cap_bytes: int) -> list[str]:
    """Delete the oldest reports until all together take at most ``cap_bytes``; gives the names of those deleted.

    Two workers may do this at once: a file that is gone already counts as deleted.
    """
    found = []
    for path in folder.glob("*.ncu-rep"):
        with contextlib.suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    total, gone = sum(size for _, size, _ in found), []
    for _, size, path in sorted(found):
        if total <= cap_bytes:
            break
        path.unlink(missing_ok=True)
        total -= size
        gone.append(path.name)
    return gone
