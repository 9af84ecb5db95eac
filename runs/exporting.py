"""A candidate's builds as files in KernelBench's form, made from what is stored; nothing is compiled or run here."""

from __future__ import annotations

from kernels.codegen.emission import Emission
from kernels.export import export
from kernels.models import Build, ProblemSize
from kernels.problems.inspection import Inspection
from kernels.records import from_json
from kernels.toolchain.report import BuildOutcome
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
