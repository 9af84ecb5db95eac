"""The border of a pad stage along its result's memory, for the generators of any target.

Dimensions are seen in the result's memory order, and one without a border joins the one before it where the operand
steps through both evenly. It writes no code.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.memory_order import memory_axes, permuted
from kernels.dsl.ir import Stage


@dataclass(frozen=True, slots=True)
class Border:
    """By merged dimension, outermost in memory first: the operand's extents and strides, and the border's widths."""

    inside: tuple[int, ...]
    strides: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        """Those of the result."""
        return tuple(sum(parts) for parts in zip(self.before, self.inside, self.after, strict=True))


def border_of(stage: Stage) -> Border:
    """The border of a pad stage along its result's memory."""
    axes = memory_axes(stage.result)
    x = permuted(stage.operands[0], axes)
    merged: list[list[int]] = []
    for place, axis in enumerate(axes):
        extent, stride = x.shape[place], x.strides[place]
        before, after = stage.attributes["before"][axis], stage.attributes["after"][axis]
        if extent == 1 and not before and not after:
            continue
        if merged and not before and not after and (merged[-1][1] == stride * extent or merged[-1][0] == 1):
            inside = merged[-1][0]
            merged[-1] = [inside * extent, stride, merged[-1][2] * extent, merged[-1][3] * extent]
        else:
            merged.append([extent, stride, before, after])
    insides, strides, before_all, after_all = zip(*(merged or [[1, 1, 0, 0]]), strict=True)
    return Border(tuple(insides), tuple(strides), tuple(before_all), tuple(after_all))
