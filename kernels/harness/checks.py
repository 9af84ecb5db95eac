"""From measures to named checks: what was seen, what is allowed, and what torch eager itself does beside it."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.harness.comparison import EAGER_FACTOR, Measures
from kernels.harness.evaluation import Check, Tolerance
from kernels.problems.inspection import TensorSpec


@dataclass(frozen=True, slots=True)
class Round:
    """One comparison: the candidate's measures and eager's own, on the same inputs."""

    label: str
    candidate: Measures
    eager: Measures
    inputs_kept: bool
    exact_note: str


def spec_checks(planned: list[TensorSpec], expected: list[TensorSpec]) -> list[Check]:
    """Number, shapes and types of the outputs, before anything runs."""
    shapes = [spec.shape for spec in planned] == [spec.shape for spec in expected]
    types = [spec.dtype for spec in planned] == [spec.dtype for spec in expected]
    note = "" if shapes and types else f"the plan gives {_specs(planned)}; the problem {_specs(expected)}"
    return [Check("shape", None, None, shapes, note), Check("dtype", None, None, types, note)]


def _specs(specs: list[TensorSpec]) -> str:
    return ", ".join(f"{spec.dtype}{list(spec.shape)}" for spec in specs) or "nothing"


def value_checks(rounds: list[Round], tolerance: Tolerance) -> list[Check]:
    """The value checks over the plain rounds: the worst round decides and is named."""
    exact = next((r.exact_note for r in rounds if r.exact_note), "")
    against = f"against the problem's own precision ({exact})" if exact else "against float64"
    return [
        _finite(rounds),
        _not_zero(rounds),
        _matched(rounds, tolerance, against),
        _relative(rounds, tolerance, against),
        _absolute(rounds, against),
        _inputs_kept(rounds),
    ]


def changed_check(round_: Round, tolerance: Tolerance) -> Check:
    """A round with scaled or shifted inputs, judged by the share of elements within tolerance."""
    seen, limit = round_.candidate.matched, 1.0
    note = (
        f"share within {tolerance.name}, its absolute part grown with the outputs; eager {round_.eager.matched:.6g}"
    )
    if seen < limit:
        note += f"; worst element {list(round_.candidate.worst)}"
    return Check(f"{round_.label} inputs", seen, limit, seen >= limit, note)


def skipped_check(label: str, reason: str) -> Check:
    """A changed round that the reference itself refuses."""
    return Check(f"{label} inputs", None, None, True, f"not done: {reason}")


def within(round_: Round, tolerance: Tolerance) -> bool:
    """Whether one comparison holds every limit (used for the outputs of timed calls)."""
    checks = value_checks([round_], tolerance)
    return all(check.passed for check in checks)


def determinism_check(same: bool, worst_difference: float) -> Check:
    """Recorded, never failed: an order of summation that varies is legal, and it is worth knowing."""
    note = "two calls on the same inputs agree bit by bit" if same else "two calls on the same inputs differ"
    return Check("deterministic", 0.0 if same else worst_difference, None, True, note)


def processes_check(before: int, after: int) -> Check:
    """A candidate starts no process that outlives its call."""
    extra = max(after - before, 0)
    return Check("processes", float(extra), 0.0, extra == 0, "processes left running" if extra else "")


def _finite(rounds: list[Round]) -> Check:
    worst = max(rounds, key=lambda r: r.candidate.stray)
    stray = worst.candidate.stray
    note = f"{worst.label}: NaN or infinity where the reference has a number" if stray else ""
    return Check("finite", float(stray), 0.0, stray == 0, note)


def _not_zero(rounds: list[Round]) -> Check:
    zero = [r.label for r in rounds if r.candidate.zero]
    if all(r.eager.reference_zero for r in rounds):
        return Check("not all zero", None, None, True, "the reference itself is all zero")
    note = f"{zero[0]}: every element of an output is zero" if zero else ""
    return Check("not all zero", float(len(zero)), 0.0, not zero, note)


def _matched(rounds: list[Round], tolerance: Tolerance, against: str) -> Check:
    worst = min(rounds, key=lambda r: r.candidate.matched)
    seen, limit = worst.candidate.matched, 1.0
    note = f"{worst.label}: share of elements within {tolerance.name}, {against}; torch eager {worst.eager.matched:.6g}"
    if seen < limit:
        note += f"; worst element {list(worst.candidate.worst)}"
    return Check("matched share", seen, limit, seen >= limit, note)


def _relative(rounds: list[Round], tolerance: Tolerance, against: str) -> Check:
    """Largest error over the largest magnitude: a constant or zero where the truth is tiny cannot pass this one."""

    def limit_of(round_: Round) -> float:
        return max(tolerance.relative, EAGER_FACTOR * round_.eager.relative)

    worst = max(rounds, key=lambda r: r.candidate.relative - limit_of(r))
    seen, limit = worst.candidate.relative, limit_of(worst)
    note = (
        f"{worst.label}: largest error over largest magnitude, {against}; worst element "
        f"{list(worst.candidate.worst)}; torch eager {worst.eager.relative:.3g}"
    )
    return Check("max relative error", seen, limit, seen <= limit, note)


def _absolute(rounds: list[Round], against: str) -> Check:
    worst = max(rounds, key=lambda r: r.candidate.absolute)
    note = f"{worst.label}: {against}; torch eager {worst.eager.absolute:.3g}"
    return Check("max absolute error", worst.candidate.absolute, None, True, note)


def _inputs_kept(rounds: list[Round]) -> Check:
    changed = [r.label for r in rounds if not r.inputs_kept]
    note = f"{changed[0]}: the call changed its inputs" if changed else ""
    return Check("inputs unchanged", float(len(changed)), 0.0, not changed, note)
