"""Deleting a run that has ended: what is its own goes, what others share or rest on stays.

Gone are the run, its problems' logs, attempts, calls, remarks and jobs, its builds and measurements. Kernels with their
texts, problems, cases with their verdicts, and lessons stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db import transaction

from kernels.models import Build, Evaluation, Profile
from runs import contenders, locking
from runs.archive.errors import RunNotDeletable
from runs.models import Attempt, Run
from runs.profiles import report_file
from runs.states import FINAL
from sol.models import Device

_TOGETHER = 500


def delete_run(run: Run) -> None:
    """Delete a run for good. Raises RunNotDeletable while it is under way."""
    files = []
    with transaction.atomic():
        locking.hold_all(run)
        held = Run.objects.select_for_update().select_related(None).get(pk=run.pk)
        if held.state not in FINAL:
            raise RunNotDeletable(run=held, state=held.state)
        builds, evaluations = _made_by(held)
        origin = held.imported
        if origin is not None:
            brought = Profile.objects.filter(elsewhere=origin.digest)
            files = [report_file(row) for row in brought.exclude(report="")]
            brought.delete()
            Device.objects.filter(elsewhere=origin.digest).delete()
        tried = Attempt.objects.filter(trajectory__run=held)
        with contenders.resting(tried.order_by().values_list("kernel", flat=True).distinct()):
            held.delete()
        _drop_orphans(builds, evaluations)
    for path in files:
        if path is not None:
            path.unlink(missing_ok=True)


def _made_by(run: Run) -> tuple[set[int], set[int]]:
    builds, evaluations = set(), set()
    columns = Attempt.objects.filter(trajectory__run=run).values_list("build", "cross_build", "evaluation")
    for build, cross_build, evaluation in columns.iterator(chunk_size=2000):
        builds |= {build, cross_build}
        evaluations.add(evaluation)
    return builds - {None}, evaluations - {None}


def _drop_orphans(builds: set[int], evaluations: set[int]) -> None:
    for keys in _some(evaluations):
        Evaluation.objects.filter(pk__in=keys, attempts__isnull=True).delete()
    for keys in _some(builds):
        crossed = Attempt.objects.filter(cross_build__in=keys).values("cross_build")
        Build.objects.filter(pk__in=keys, attempts__isnull=True).exclude(pk__in=crossed).delete()


def _some(keys: Iterable[int]) -> Iterator[list[int]]:
    every = sorted(keys)
    for start in range(0, len(every), _TOGETHER):
        yield every[start : start + _TOGETHER]
