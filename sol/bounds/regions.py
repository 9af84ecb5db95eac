"""Which elements of a tensor are needed: for each axis all or a mask, and a share where no mask can say it.

A region is a lower estimate wherever it is not exact: a bound may only err downwards.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Axis = Mask | None


@dataclass(frozen=True, slots=True)
class Region:
    """``axes`` has one entry an axis, None for all of it; ``share`` is how much of that box is needed (0 to 1).

    ``spread`` says that the share lies in every row and column, as a triangle does: none of them can be left out.
    """

    axes: tuple[Axis, ...]
    share: float = 1.0
    spread: bool = False

    def along(self, axes: tuple[Axis, ...]) -> Region:
        """The same share of other axes."""
        return Region(axes, self.share, self.spread)

    def elements(self, shape: tuple[int, ...]) -> int:
        """How many elements of a tensor of that shape are needed; at least one where any share of any is."""
        total = math.prod(shape)
        if not total or self.share <= 0:
            return 0
        box = math.prod(kept(axis, extent) for axis, extent in zip(self.axes, shape, strict=True))
        return min(total, max(1, math.ceil(box * self.share - 1e-6))) if box else 0

    @property
    def is_full(self) -> bool:
        """Whether every element is needed."""
        return self.share >= 1.0 and all(axis is None for axis in self.axes)


def kept(axis: Axis, extent: int) -> int:
    """How many places of an axis are needed."""
    return extent if axis is None else int(axis.sum())


def full(rank: int) -> Region:
    """All of a tensor."""
    return Region((None,) * rank)


def some(rank: int, share: float) -> Region:
    """That share of a tensor, wherever it is."""
    return Region((None,) * rank, min(1.0, share))


def simplified(axis: Mask) -> Axis:
    """None where a mask keeps everything."""
    return None if bool(axis.all()) else axis


def union(a: Region, b: Region, shape: tuple[int, ...]) -> Region:
    """Both. Exact where they differ along one axis or one holds the other; else the larger one, which is less."""
    exact = _exact_union(a, b, shape)
    if exact is not None:
        return exact
    return a if a.elements(shape) >= b.elements(shape) else b


def union_of(regions: Sequence[Region], shape: tuple[int, ...]) -> Region:
    """All of them. Pairs that make one region are joined first: the four quarters of a tensor make all of it."""
    left = list(regions)
    joined = True
    while joined and len(left) > 1:
        joined = False
        for first, second in itertools.combinations(range(len(left)), 2):
            exact = _exact_union(left[first], left[second], shape)
            if exact is not None:
                left = [item for place, item in enumerate(left) if place not in (first, second)] + [exact]
                joined = True
                break
    return functools.reduce(lambda a, b: union(a, b, shape), left)


def _exact_union(a: Region, b: Region, shape: tuple[int, ...]) -> Region | None:
    if a.is_full or b.is_full:
        return full(len(shape))
    different = [place for place, pair in enumerate(zip(a.axes, b.axes, strict=True)) if not same(*pair)]
    if not different:
        return a if a.share >= b.share else b
    if len(different) > 1 or a.share != b.share:
        return None
    place = different[0]
    left, right = a.axes[place], b.axes[place]
    axis = None if left is None or right is None else simplified(left | right)
    return Region((*a.axes[:place], axis, *a.axes[place + 1 :]), a.share, a.spread and b.spread)


def same(a: Axis, b: Axis) -> bool:
    """Whether two masks of one axis agree."""
    if a is None or b is None:
        return a is None and b is None
    return a is b or bool(np.array_equal(a, b))


def windows(
    extent_read: int, extent_made: int, kernel: int, stride: int, padding: int, dilation: int, made: Axis
) -> Axis:
    """Places read along one axis by sliding windows (kernel, stride, padding, dilation), for those that are made."""
    if made is None and stride <= 1:
        # Neighbouring windows leave no gap but at the far end, which padding or a floor may cut off.
        reach = extent_made - 1 + (kernel - 1) * dilation - padding
        if padding <= (kernel - 1) * dilation and reach >= extent_read - 1 and dilation == 1:
            return None
    starts = np.arange(extent_made) if made is None else np.flatnonzero(made)
    read = np.zeros(extent_read, dtype=np.bool_)
    for tap in range(kernel):
        places = starts * stride - padding + tap * dilation
        read[places[(places >= 0) & (places < extent_read)]] = True
    return simplified(read)
