"""From measures to named checks: what was seen, what is allowed, and what torch eager itself does beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernels.harness.comparison import EAGER_FACTOR, Measures
from kernels.harness.correctness import Errors
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


def first_call_checks(answer: Mapping[str, Any], expected: list[TensorSpec]) -> list[Check]:
    """Kind, number, shapes and types of what a module's first call gave, as its child describes it."""
    found = [item or ["no tensor", []] for item in answer["outputs"]]
    faults = [str(fault) for fault in answer["faults"]]
    shapes = [list(shape) for _, shape in found] == [list(spec.shape) for spec in expected]
    types = [dtype for dtype, _ in found] == [f"torch.{spec.dtype.torch_name}" for spec in expected]
    gave = ", ".join(f"{str(dtype).removeprefix('torch.')}{shape}" for dtype, shape in found) or "nothing"
    right = ", ".join(f"{spec.dtype.torch_name}{list(spec.shape)}" for spec in expected)
    note = "" if shapes and types else f"forward gives {gave}; the problem {right}"
    kind = Check("output kind", float(len(faults)), 0.0, not faults, faults[0] if faults else "")
    return [kind, Check("shape", None, None, shapes, note), Check("dtype", None, None, types, note)]


def structure_check(seen: str, expected: str) -> Check:
    """Whether a module's result is put together as the problem's is: a tensor is not a tuple of one."""
    note = "" if seen == expected else f"forward gives {seen}; the problem {expected}"
    return Check("output structure", None, None, seen == expected, note)


def weights_check(weights: Mapping[str, Any]) -> Check:
    """Recorded, never failed: which of a module's tensors hold the reference's weights, and how those were found."""
    by_name, by_order, own, unused = (list(weights[key]) for key in ("by_name", "by_order", "own", "unused"))
    matched, count = len(by_name) + len(by_order), len(by_name) + len(by_order) + len(own)
    if not count:
        note = "the module has no parameters" + (f"; the reference has {len(unused)}" if unused else "")
        return Check("weights", 0.0, None, True, note)
    how = [f"{len(by_name)} by name"] if by_name else []
    how += [f"{len(by_order)} by order among equal shapes ({_names(by_order)})"] if by_order else []
    note = f"{matched} of {count} parameters are the reference's" + (f": {', '.join(how)}" if how else "")
    note += f"; the module's own under a fixed seed: {_names(own)}" if own else ""
    note += f"; of the reference's, not used: {_names(unused)}" if unused else ""
    return Check("weights", float(matched), None, True, note)


def _names(names: list[Any], most: int = 5) -> str:
    shown = ", ".join(str(name)[:60] for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _specs(specs: list[TensorSpec]) -> str:
    return ", ".join(f"{spec.dtype}{list(spec.shape)}" for spec in specs) or "nothing"


def value_checks(rounds: list[Round], tolerance: Tolerance) -> list[Check]:
    """The value checks over the plain rounds: the worst round decides and is named."""
    exact = next((r.exact_note for r in rounds if r.exact_note), "")
    against = f"against the problem's own precision ({exact})" if exact else "against float64"
    return [
        _finite(rounds),
        _not_zero(rounds),
        _matched(rounds, tolerance, exact),
        _relative(rounds, tolerance, against),
        _absolute(rounds, against),
    ]


def recorded_checks(rounds: list[Round], tolerance: Tolerance) -> list[Check]:
    """Recorded, never failed: measures that the deciding ones imply, or that another reference gives."""
    return [_other_reference(rounds, tolerance), _normwise(rounds), _elementwise(rounds), _worst_tile(rounds)]


def all_rounds_checks(rounds: list[Round], stale: list[str]) -> list[Check]:
    """What must hold in every round, whatever its inputs. ``stale`` says where an answer did not follow its inputs."""
    left = [r for r in rounds if r.candidate.errors.unwritten]
    note = ""
    if left:
        errors = left[0].candidate.errors
        note = f"{left[0].label}: {errors.unwritten} elements still hold what was put there before the call"
        note += f"; the worst are in {errors.tile.words}" if errors.tile is not None else ""
    seen = float(max((r.candidate.errors.unwritten for r in rounds), default=0))
    return [
        Check("every element written", seen, 0.0, not left, note),
        Check("follows the inputs", float(len(stale)), 0.0, not stale, stale[0] if stale else ""),
        inputs_kept_check(rounds),
    ]


def changed_check(round_: Round, tolerance: Tolerance, how: str) -> Check:
    """A round with inputs changed on purpose, named after it, judged by the share of elements within tolerance."""
    seen, limit = round_.candidate.matched, 1.0
    note = f"{how}; share within {tolerance.name}; eager {round_.eager.matched:.6g}"
    if seen < limit:
        note += f"; {where_worst(round_)}"
    return Check(round_.label, seen, limit, seen >= limit, note)


def not_done(name: str, reason: str) -> Check:
    """A check that there was no way to make, with the reason."""
    return Check(name, None, None, False, reason, done=False)


def within(round_: Round, tolerance: Tolerance) -> bool:
    """Whether one comparison holds every limit (used for the outputs of timed calls)."""
    checks = value_checks([round_], tolerance)
    return not any(check.failed for check in checks)


def plainly_within(seen: Measures, tolerance: Tolerance) -> bool:
    """Whether every limit holds without a look at eager's own error, which can only widen them."""
    return seen.stray == 0 and not seen.zero and seen.matched >= 1.0 and seen.relative <= tolerance.relative


def where_worst(round_: Round) -> str:
    """The worst element and the worst tile in words."""
    tile = round_.candidate.errors.tile
    return f"worst element {list(round_.candidate.worst)}" + (f"; worst tile: {tile.words}" if tile else "")


def determinism_check(calls: int, worst_difference: float, beyond: int) -> Check:
    """Calls on the same inputs. An order of summation that varies within the tolerance is legal; more is a race.

    ``beyond`` counts elements that differ between two calls by more than two right answers could.
    """
    if beyond:
        note = f"{calls} calls on the same inputs: {beyond} elements differ by more than the tolerance lets two answers"
    elif worst_difference:
        note = f"{calls} calls on the same inputs differ within the tolerance, as another order of summation does"
    else:
        note = f"{calls} calls on the same inputs agree bit by bit"
    return Check("deterministic", worst_difference, None, not beyond, note)


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


def _matched(rounds: list[Round], tolerance: Tolerance, exact: str) -> Check:
    worst = min(rounds, key=lambda r: r.candidate.matched)
    seen, limit = worst.candidate.matched, 1.0
    how = f"against float64, or within {EAGER_FACTOR:g} times torch eager's own error"
    if exact:
        how = f"against the problem's own precision ({exact})"
    elif tolerance.against == "own":
        how = f"against the reference in its own precision, or {how.removeprefix('against ')}"
    note = f"{worst.label}: share of elements within {tolerance.name}, {how}; torch eager {worst.eager.matched:.6g}"
    if seen < limit:
        note += f"; {where_worst(worst)}"
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


def _other_reference(rounds: list[Round], tolerance: Tolerance) -> Check:
    """The share by the reference that does not decide."""
    own = tolerance.against == "float64"

    def share(errors: Errors) -> float:
        return errors.matched_own if own else errors.matched_float64

    worst = min(rounds, key=lambda r: share(r.candidate.errors))
    name = "matched share, own precision" if own else "matched share, float64"
    note = f"{worst.label}: share within {tolerance.name} of the reference in "
    note += "its own precision" if own else "float64"
    note += f"; torch eager {share(worst.eager.errors):.6g}"
    return Check(name, share(worst.candidate.errors), None, True, note)


def _normwise(rounds: list[Round]) -> Check:
    worst = max(rounds, key=lambda r: r.candidate.errors.normwise)
    note = f"{worst.label}: norm of the error over the reference's; torch eager {worst.eager.errors.normwise:.3g}"
    return Check("norm-wise relative error", worst.candidate.errors.normwise, None, True, note)


def _elementwise(rounds: list[Round]) -> Check:
    worst = max(rounds, key=lambda r: r.candidate.errors.elementwise)
    note = f"{worst.label}: largest error over its element, or over the root mean square where that is larger"
    note += f"; torch eager {worst.eager.errors.elementwise:.3g}"
    return Check("element-wise relative error", worst.candidate.errors.elementwise, None, True, note)


def _worst_tile(rounds: list[Round]) -> Check:
    found = [(r, r.candidate.errors.tile) for r in rounds]
    known = [(r, tile) for r, tile in found if tile is not None]
    if not known:
        return not_done("worst tile", "the outputs have no elements")
    worst, tile = max(known, key=lambda pair: pair[1].error)
    return Check("worst tile", tile.error, None, True, f"{worst.label}: {tile.words}; norm-wise within the tile")


def inputs_kept_check(rounds: list[Round]) -> Check:
    """Whether every call left its inputs as they were."""
    changed = [r.label for r in rounds if not r.inputs_kept]
    note = f"{changed[0]}: the call changed its inputs" if changed else ""
    return Check("inputs unchanged", float(len(changed)), 0.0, not changed, note)
