"""Tolerance profiles: when an output counts as right.

- ``kernelbench``: KernelBench's present rule, ``torch.allclose(reference, candidate, rtol=t, atol=t)`` with the
  reference in the problem's own precision, so |error| <= t + t*|candidate|; t = 1e-4 for f32 and 1e-2 for halves.
- ``kernelbench-v0.1``: the same rule with t = 1e-2 for every type, as its first release had it.

  Laxer than KernelBench: an element that misses that rule is right too where it is within t + t*|exact|, or within four
  times torch eager's largest error, of the float64 reference (nobody is asked to repeat eager's rounding); and where
  the reference itself has NaN, NaN is right.
  Stricter: the largest error must be within t of the largest magnitude, or four times eager's, so that zeros do not
  pass where the truth is tiny; t = 1e-4 holds for f64 as well, whole numbers must be equal; and all else of
  ``checks``: the type of the output, inputs and weights unchanged, changed and strided inputs, every timed output.
- ``strict``: error against float64, scaled by the length of the longest reduction. A sum of K products, each rounded
  with unit roundoff u, has an error that grows like sqrt(K)*u when the roundings are independent (Higham, "Accuracy
  and Stability of Numerical Algorithms", 2nd ed., section 2.8); the limit is 8*u*sqrt(K) relative to the reference.
  The rounding of the result itself is within the factor of 8. The limit is 1/4 at most, which 16-bit and 8-bit types
  reach with long sums: these are added up in FP32, and what is left is the rounding of operands and result. There is no
  absolute part: an element smaller than the reference's root mean square is held to that magnitude, since cancellation
  leaves it no better. Where torch eager's largest error is beyond the limit, four times that is allowed.

Every comparison is recorded in both precisions; ``Tolerance.against`` says which decides.
"""

from __future__ import annotations

import math

from kernels.dtypes import DType
from kernels.harness.errors import UnknownTolerance
from kernels.harness.evaluation import Tolerance

PROFILES = ("kernelbench", "kernelbench-v0.1", "strict")

UNIT_ROUNDOFF = {
    DType.F64: 2.0**-53,
    DType.F32: 2.0**-24,
    DType.F16: 2.0**-11,
    DType.BF16: 2.0**-8,
    DType.F8E4M3: 2.0**-4,
    DType.F8E5M2: 2.0**-3,
}
"""Half the distance from 1 to the next number of the type (IEEE 754 and OCP FP8 formats)."""

_STRICT_FACTOR = 8.0
_STRICT_MOST = 0.25
"""Twice the unit roundoff of the coarsest type. Beyond 1 a zero would be right in any element's place."""


def profile(name: str, dtype: DType, reduction: int = 1) -> Tolerance:
    """The tolerance ``name`` for outputs of type ``dtype`` whose longest sum has ``reduction`` terms.

    Whole-number types have tolerance 0. Raises UnknownTolerance.
    """
    if name not in PROFILES:
        raise UnknownTolerance(name=name, names=", ".join(PROFILES))
    if not dtype.is_float:
        return Tolerance(name, 0.0, 0.0, "own")
    if name == "strict":
        grown = _STRICT_FACTOR * UNIT_ROUNDOFF[dtype] * math.sqrt(max(reduction, 1))
        return Tolerance(name, min(grown, _STRICT_MOST), 0.0)
    limit = 1e-4 if name == "kernelbench" and dtype in (DType.F32, DType.F64) else 1e-2
    return Tolerance(name, limit, limit, "own")
