"""Profiles of attempts: which row belongs to an attempt, where its report lies, and which reports have to go.

A profile is a row of its own, so taking one again changes no evaluation. Reports lie in one folder with a cap; the
oldest go first, their records stay. Nothing is profiled here.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.db.models import Q

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
_MOST = 20
"""Profiles of one subject that are looked at."""
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


class _Subject(NamedTuple):
    """What a profile is of: a kernel as it was built for its run. One that an archive brought is of that one's run."""

    kernel_id: int
    problem_id: int
    size: str
    target: str
    policy: str
    elsewhere: str

    @classmethod
    def of(cls, attempt: Attempt) -> _Subject:
        on, run = attempt.trajectory, attempt.trajectory.run
        return cls(attempt.kernel_id, on.problem_id, on.size, run.target, run.policy, run.brought_by)


def profiles_of(attempt: Attempt) -> list[Profile]:
    """Every profile of the attempt's kernel as it was built for its run, the latest first."""
    return list(Profile.objects.filter(**_Subject.of(attempt)._asdict()).order_by("-pk")[:_MOST])


def shown_profiles(attempts: Sequence[Attempt]) -> dict[int, Profile]:
    """The profile that each attempt's own page shows, by the attempt's key. One query."""
    subjects = {one.pk: _Subject.of(one) for one in attempts}
    wanted = Q()
    for subject in set(subjects.values()):
        wanted |= Q(**subject._asdict())
    found: dict[_Subject, list[Profile]] = {}
    for row in Profile.objects.filter(wanted).order_by("-pk")[: _MOST * len(attempts)]:
        found.setdefault(_Subject(*(getattr(row, name) for name in _Subject._fields)), []).append(row)
    shown = {key: shown_of(found.get(subject, [])) for key, subject in subjects.items()}
    return {key: row for key, row in shown.items() if row is not None}


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
