"""How far an output is from the reference, by several measures at once. Runs only in the supervisor (torch at the top).

Everything is measured against the float64 reference. The error of torch eager in the problem's own precision stands
beside each measure, and an element within four times eager's own largest error counts as right: where eager itself
misses a tolerance, a candidate with another order of summation is not asked to be better.
It makes no checks; ``checks`` does.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kernels.harness.evaluation import Tolerance

EAGER_FACTOR = 4.0
"""A candidate may be this many times as far from float64 as torch eager is, where that is beyond the tolerance."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Reference outputs for one set of inputs: in the problem's own precision, and in float64.

    ``exact_note`` is empty where the float64 model ran; else it says why ``exact`` is the own-precision result.
    """

    own: list[Tensor]
    exact: list[Tensor]
    exact_note: str


@dataclass(frozen=True, slots=True)
class Measures:
    """``relative`` is the largest absolute error over the largest reference magnitude; ``matched`` a share 0 to 1.

    ``stray`` counts NaN and infinities where the reference has a number. ``worst`` is the index of the element
    whose error is largest beside what it is allowed, led by the number of the output.
    """

    relative: float
    absolute: float
    matched: float
    stray: int
    worst: tuple[int, ...]
    zero: bool
    reference_zero: bool


def measure(
    outputs: list[Tensor], expected: Expected, tolerance: Tolerance, *, as_far_as_eager: bool = True
) -> Measures:
    """The worst of each measure over all outputs.

    ``as_far_as_eager`` lets elements within four times eager's largest error match too; off, the tolerance alone
    decides (as when eager itself is measured).
    """
    each = [
        _measure_one(number, *tensors, tolerance, as_far_as_eager)
        for number, tensors in enumerate(zip(outputs, expected.exact, expected.own, strict=True))
    ]
    least = min(each, key=lambda one: one.matched)
    return Measures(
        relative=max(one.relative for one in each),
        absolute=max(one.absolute for one in each),
        matched=least.matched,
        stray=sum(one.stray for one in each),
        worst=max(each, key=lambda one: one.relative).worst if least.matched == 1.0 else least.worst,
        zero=any(one.zero and not one.reference_zero for one in each),
        reference_zero=all(one.reference_zero for one in each),
    )


def magnitude(expected: Expected) -> float:
    """The largest finite magnitude of any reference output; 0 where there is none."""
    return max(
        (float(_numbers(t.abs(), torch.isfinite(t)).max()) for t in expected.exact if t.numel()), default=0.0
    )


def _numbers(tensor: Tensor, where: Tensor) -> Tensor:
    return torch.where(where, tensor, torch.zeros_like(tensor))


def _measure_one(
    number: int, seen: Tensor, exact: Tensor, own: Tensor, tolerance: Tolerance, as_far_as_eager: bool
) -> Measures:
    if exact.numel() == 0:
        return Measures(0.0, 0.0, 1.0, 0, (number,), False, True)
    seen64, own64 = seen.double().cpu(), own.double()
    numbers = torch.isfinite(exact) & torch.isfinite(own64)
    error = (seen64 - exact).abs().nan_to_num(nan=torch.inf, posinf=torch.inf)
    allowed = _allowed(exact, numbers, tolerance)
    if as_far_as_eager:
        allowed = allowed.clamp_min(EAGER_FACTOR * float(_numbers((own64 - exact).abs(), numbers).max()))
    same = (seen64 == own64) | (seen64.isnan() & own64.isnan())
    right = torch.where(numbers, error <= allowed, same | (torch.isfinite(exact) & (error <= allowed)))
    counted = _numbers(error, numbers)
    excess = torch.where(right, torch.zeros_like(error), torch.full_like(error, 1e300)) + counted.clamp_max(1e299)
    largest, peak = float(counted.max()), float(_numbers(exact.abs(), numbers).max())
    return Measures(
        relative=largest / peak if peak else (0.0 if largest == 0 else float("inf")),
        absolute=largest,
        matched=float(right.double().mean()),
        stray=int((numbers & ~torch.isfinite(seen64)).sum()),
        worst=(number, *_index(int(excess.reshape(-1).argmax()), tuple(exact.shape))),
        zero=not bool(seen64.any()),
        reference_zero=not bool(exact.any()),
    )


def _allowed(exact: Tensor, numbers: Tensor, tolerance: Tolerance) -> Tensor:
    size = exact.abs()
    if tolerance.absolute == 0:
        # Without an absolute part, an element that cancellation made small is held to the typical magnitude.
        typical = size[numbers].square().mean().sqrt() if numbers.any() else exact.new_zeros(())
        size = size.clamp_min(typical)
    return tolerance.absolute + tolerance.relative * size


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for extent in reversed(shape):
        flat, position = divmod(flat, extent)
        index.append(position)
    return tuple(reversed(index))
