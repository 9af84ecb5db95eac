"""A candidate's builds as files in KernelBench's form, made from what is stored; nothing is compiled or run here."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from kernels.codegen.emission import Emission
from kernels.export import export
from kernels.models import Build, ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import from_json
from kernels.toolchain import Cache
from kernels.toolchain.report import BuildOutcome, BuildReport
from runs.models import Attempt


def exportable(build: Build | None) -> bool:
    """Whether there is a build that compiled; a Python candidate has none and is a ``ModelNew`` as it is."""
    return build is not None and build.outcome == BuildOutcome.BUILT


def exported(attempt: Attempt, target: str) -> str | None:
    """The text of ``ModelNew`` for a target of this attempt's builds, to be compiled on first use; None where there
    is no build that compiled."""
    rows = (row for row in (attempt.build, attempt.cross_build) if row is not None and row.target == target)
    build = next(rows, None)
    if build is None or not exportable(build):
        return None
    problem = attempt.trajectory.problem
    record = ProblemSize.objects.values_list("record", flat=True).get(problem_id=build.problem_id, size=build.size)
    inspection = from_json(record, Inspection)  # type: ignore[arg-type]
    emission = from_json(build.emission, Emission)
    return export(emission, (str(attempt.kernel), problem.name), problem.source, inspection)


def shared_object(attempt: Attempt, symbol: str) -> Path | None:
    """The file of a unit of this attempt's builds; None where it was not built, or left the cache since."""
    for row in (attempt.build, attempt.cross_build):
        for unit in from_json(row.report, BuildReport).units if row is not None else ():
            if unit.symbol == symbol and unit.artifact:
                path = Cache(settings.BUILD_CACHE_DIR).path(unit.artifact)
                if path.exists():
                    return path
    return None
