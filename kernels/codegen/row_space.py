"""Where the rows of a reduce, softmax or norm lie: the dimensions of x in memory order, kept and reduced, merged.

Shared by all targets. It knows strides and extents only; how a kernel goes over them is the generators' business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.dsl.ir import Stage, Value

Steps = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring dimensions as one: ``step`` is the distance in x from one index to the next, ``steps`` that in
    each operand, in elements."""

    extent: int
    step: int
    steps: Steps


@dataclass(frozen=True, slots=True)
class RowSpace:
    """Rows are numbered over ``kept``, the elements of a row over ``reduced``; outermost first, as x lies in memory.

    No group has an extent of one, so either may be empty. ``adjacent`` says that neighbouring rows, and not
    neighbouring elements of a row, lie side by side.
    """

    kept: tuple[Group, ...]
    reduced: tuple[Group, ...]
    adjacent: bool

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return math.prod(group.extent for group in self.kept)

    def flat(self, operand: int) -> bool:
        """Whether an operand lies in memory exactly as x does."""
        return all(group.steps[operand] == group.step for group in (*self.kept, *self.reduced))

    def constant(self, operand: int) -> bool:
        """Whether an operand is the same for all elements of a row."""
        return not any(group.steps[operand] for group in self.reduced)


def result_steps(stage: Stage, value: Value) -> Steps:
    """The strides, over the dimensions of x, of a value that has the shape of the result: 0 where it repeats."""
    shape, axes = stage.operands[0].shape, stage.attributes["axes"]
    own = [0 if extent == 1 else stride for extent, stride in zip(value.shape, value.strides, strict=True)]
    if stage.op != "reduce":
        return tuple(own)
    if len(value.shape) == len(shape):
        return tuple(0 if axis in axes else stride for axis, stride in enumerate(own))
    left = iter(own)
    return tuple(0 if axis in axes else next(left) for axis in range(len(shape)))


def affine_steps(stage: Stage, vector: Value) -> Steps:
    """The strides, over the dimensions of x, of a norm's weight or bias."""
    found = dict(zip(stage.attributes["affine"], vector.strides, strict=True))
    return tuple(found.get(axis, 0) for axis in range(len(stage.operands[0].shape)))


def affine_operands(stage: Stage) -> tuple[Value, ...]:
    """A norm's weight and bias, where it has them."""
    return stage.operands[1 : 1 + stage.attributes["weight"] + stage.attributes["bias"]]


def prologue_steps(stage: Stage) -> list[Steps]:
    """The strides, over the dimensions of x, of the tensors that its elements are computed from besides x."""
    others = stage.operands[1 + len(affine_operands(stage)) :] if stage.attributes["prologue"] else ()
    return [
        tuple(0 if extent == 1 else stride for extent, stride in zip(value.shape, value.strides, strict=True))
        for value in others
    ]


def operand_steps(stage: Stage, chained: Sequence[Value]) -> list[Steps]:
    """The strides over x's dimensions of weight and bias, and of what the chain loads."""
    return [
        *(affine_steps(stage, vector) for vector in affine_operands(stage)),
        *(result_steps(stage, value) for value in chained),
    ]


def row_space(stage: Stage, operands: Sequence[Steps] = ()) -> RowSpace:
    """The rows of a stage; dimensions are merged where x and all ``operands`` step through them evenly."""
    x, axes, groups = stage.operands[0], stage.attributes["axes"], stage.attributes["groups"]
    dims: list[tuple[Group, bool]] = []
    for axis, extent in enumerate(x.shape):
        steps = tuple(strides[axis] for strides in operands)
        if groups and axis == 1:
            inner = extent // groups
            dims.append((Group(groups, x.strides[axis] * inner, tuple(step * inner for step in steps)), False))
            dims.append((Group(inner, x.strides[axis], steps), True))
        else:
            dims.append((Group(extent, x.strides[axis], steps), axis in axes))
    dims = [(group, gone) for group, gone in dims if group.extent != 1]
    dims.sort(key=lambda dim: -dim[0].step)
    kept = _merged([group for group, gone in dims if not gone])
    reduced = _merged([group for group, gone in dims if gone])
    return RowSpace(kept, reduced, bool(dims) and not dims[-1][1])


def computed_space(stage: Stage, inputs: Sequence[Value]) -> tuple[Group, ...]:
    """The dimensions of x in memory order, kept or not, merged where x and all ``inputs`` step through them evenly.

    For what the elements of the rows are computed from: values of x's shape. There is a group at least.
    """
    x = stage.operands[0]
    dims = []
    for axis, extent in enumerate(x.shape):
        if extent != 1:
            steps = tuple(0 if value.shape[axis] == 1 else value.strides[axis] for value in inputs)
            dims.append(Group(extent, x.strides[axis], steps))
    dims.sort(key=lambda group: -group.step)
    return _merged(dims) or (Group(1, 1, (0,) * len(inputs)),)


def _merged(groups: list[Group]) -> tuple[Group, ...]:
    """Neighbours that all step through evenly, joined."""
    made: list[Group] = []
    for group in groups:
        if made and _even(made[-1], group):
            made[-1] = Group(made[-1].extent * group.extent, group.step, group.steps)
        else:
            made.append(group)
    return tuple(made)


def _even(outer: Group, inner: Group) -> bool:
    pairs = zip((outer.step, *outer.steps), (inner.step, *inner.steps), strict=True)
    return all(above == below * inner.extent for above, below in pairs)
