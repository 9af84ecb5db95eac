"""Rows of audits for page tests: attempts whose kernels have cases, by the functions that the product uses."""

from __future__ import annotations

from kernels.harness.evaluation import Outcome
from kernels.models import Kernel
from runs.models import Attempt, Run, Trajectory
from sol.audit import Evidence, Flag, Place, Severity, Trick
from sol.cases import raise_flags
from sol.models import Case
from tests.web import gallery

CACHED = Flag(
    "caches", Trick.CACHE_BY_POINTER, Severity.SEVERE, 0.9,
    Evidence("answers are kept by y <b>and</b> given again", (Place(2, 3), Place(5, 5)), {"floor_s": 0.00128}),
)  # fmt: skip
CAST = Flag("precision", Trick.LOWER_PRECISION, Severity.SUSPECT, 0.6, Evidence("casts to f16", (Place(3, 3),)))
REMARK = Flag("library", Trick.FIG_LEAF, Severity.INFO, 0.4, Evidence("torch beside an own kernel"))


def flagged(attempt: Attempt, *flags: Flag) -> Case:
    """The attempt's case with these flags, and the attempt as it then stands."""
    case = raise_flags(attempt.kernel, attempt.trajectory.problem, flags, attempt.evaluation)
    assert case is not None
    attempt.refresh_from_db()
    return case


def raw(on: Trajectory, number: int, source: str, language: str, time_s: float | None = None) -> Attempt:
    """An attempt whose kernel is this text."""
    one = gallery.attempt(on, number, Outcome.PASSED if time_s else Outcome.INCORRECT, time_s)
    one.kernel = Kernel.objects.of_source(language, source)
    one.save()
    return one


def three_problems(run: Run) -> list[Trajectory]:
    """Three problems with eager at 8, 8 and 4 ms and bounds of 1, 2 and 1 ms, no attempts yet."""
    rows = []
    for on, sol_s, eager_s in zip(gallery.problems(3), (1e-3, 2e-3, 1e-3), (8e-3, 8e-3, 4e-3), strict=True):
        row = gallery.trajectory(run, on, sol_s=sol_s, floor_s=sol_s / 2)
        row.eager_s = eager_s
        row.save()
        rows.append(row)
    return rows
