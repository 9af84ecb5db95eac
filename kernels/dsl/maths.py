"""How FP32 data is multiplied: each way's products, its error class, and the lowest policy that allows it.

Sums are in FP32 in all of them. An error class is a relative error of one product: the unit roundoff u of what the
multipliers read, or for a split into n parts 2 u^n. Each part of a split is the rest of those before it, rounded, so
that n of them leave a rest of u^n on either side; the products of parts whose numbers add up to n or more are of that
size and left out. Infinities, and numbers past the part type's largest, come out of a split as NaN.

Sources: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 2.2 (unit roundoffs); CUTLASS
example 27 (3xTF32); G. Henry, P. Tang and A. Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
Higher-Precision Computations", 2019 (two and three parts of BF16).
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.dtypes import FP8, DType
from kernels.targets import Policy


@dataclass(frozen=True, slots=True)
class Way:
    """``element`` is what the multipliers read. ``products`` are the parts of a and of b that meet, in the order of
    their sum, smallest first; empty where the data is read as it is stored."""

    element: DType
    error: float
    policy: Policy
    source: str
    products: tuple[tuple[int, int], ...] = ()

    @property
    def parts(self) -> int:
        """How many parts a number is written as."""
        return 1 + max((part for pair in self.products for part in pair), default=0)


def _split(parts: int) -> tuple[tuple[int, int], ...]:
    """The pairs whose numbers add up to less than ``parts``, those of the smallest products first."""
    orders = range(parts - 1, -1, -1)
    return tuple((first, order - first) for order in orders for first in range(order, -1, -1))


WAYS: dict[str, Way] = {
    "f32": Way(DType.F32, 2.0**-24, Policy.STRICT, "IEEE 754 binary32"),
    "tf32": Way(DType.F32, 2.0**-11, Policy.TF32, "10 bits behind the point"),
    "f16": Way(DType.F16, 2.0**-11, Policy.HALF, "IEEE 754 binary16, and its range", _split(1)),
    "bf16": Way(DType.BF16, 2.0**-8, Policy.HALF, "7 bits behind the point", _split(1)),
    "tf32x3": Way(DType.F32, 2.0**-21, Policy.STRICT, "u = 2^-11, two parts", _split(2)),
    "bf16x3": Way(DType.BF16, 2.0**-15, Policy.TF32, "u = 2^-8, two parts", _split(2)),
    "bf16x6": Way(DType.BF16, 2.0**-23, Policy.STRICT, "u = 2^-8, three parts", _split(3)),
}
"""By the word of the knob ``math``."""

SPLITS = tuple(word for word, way in WAYS.items() if way.parts > 1)
PROMOTED = (*(word for word in SPLITS if WAYS[word].policy is Policy.STRICT), *FP8)
_ORDER = list(Policy)


def element_bytes(word: str) -> int:
    """Bytes of an element as the multipliers read it; ``word`` may be an element type that is multiplied as it is."""
    return WAYS[word].element.bytes if word in WAYS else DType(word).bytes


def copied(word: str, dtype: DType) -> bool:
    """Whether an operand is copied in front of the product, rounded or split, and so may lie in memory in any way."""
    return dtype is DType.F32 and word in WAYS and WAYS[word].products != ()


def sums_type(acc: str) -> DType:
    """The element type that the knob ``acc`` stands for."""
    return DType.F32 if acc == "fast" else DType(acc)


def promoted(word: str, acc: str) -> bool:
    """Whether sm_90a adds its tensor cores' sums up in FP32 registers every few instructions, rounding to nearest.

    The tensor cores truncate: an error of all sums in one direction, which grows with K. Sums of 8-bit products and of
    splits that stand for FP32 are worth a second set of registers; ``acc(fast)`` leaves it out.
    """
    return word in PROMOTED and acc == "f32"


def allowed(word: str, policy: Policy) -> bool:
    """Whether a run of this policy may multiply FP32 data so; words that are element types of their own may not."""
    return word in WAYS and _ORDER.index(WAYS[word].policy) <= _ORDER.index(policy)


def allowed_words(policy: Policy) -> list[str]:
    """The ways that a policy allows, the most exact first."""
    return sorted((word for word in WAYS if allowed(word, policy)), key=lambda word: WAYS[word].error)
