"""Two settings of one stage compared by the factors of an analytic model: the expected gain, and the reason."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeAlias

Factor: TypeAlias = tuple[float, str]
"""An efficiency in (0, 1], and what it says in words."""

_LEAST, _MOST = 0.5, 4.0
"""Models of a line or two are not believed beyond these gains."""


def compare(now: Iterable[Factor], then: Iterable[Factor]) -> tuple[float, str]:
    """Gain of ``then`` over ``now`` and a sentence on the factor that speaks most for it. Both list the same factors.

    Where none does, the sentence says what speaks most against it, as a check of the model.
    """
    pairs = list(zip(now, then, strict=True))
    ratios = [after[0] / before[0] for before, after in pairs]
    gain = min(max(math.prod(ratios), _LEAST), _MOST)
    if max(ratios) > 1:
        return gain, _words(*pairs[ratios.index(max(ratios))])
    return gain, f"Against the model, as a check of it: {_words(*pairs[ratios.index(min(ratios))], lead=False)}"


def _words(before: Factor, after: Factor, lead: bool = True) -> str:
    words = after[1][0].upper() + after[1][1:] if lead else after[1]
    return f"{words}; now {before[1]}." if before[1] != after[1] else f"{words}."


def parts(extent: int, part: int) -> int:
    """How many parts of that size cover an extent."""
    return -(-extent // part)


def filled(extent: int, part: int) -> float:
    """The share of those parts that the extent fills."""
    return extent / (parts(extent, part) * part)
