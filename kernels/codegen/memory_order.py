"""Stages seen along the memory of their result, and operands that lie another way: for the generators of any target.

A channels-last result is a row-major one with its dimensions in another order; so code is written for row-major
results alone. It chooses orders and axes and writes no code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernels.dsl.ir import Acc, Apply, ChainStep, Const, Expr, Load, Stage, Value

LEAST_TURNED = 2
"""Elements side by side from which reading a tile and turning it beats stepping through it."""


def memory_axes(value: Value) -> tuple[int, ...]:
    """The dimensions of a dense value, outermost in memory first."""
    rank = len(value.shape)
    if value.contiguous:
        return tuple(range(rank))
    if value.channels_last:
        return (0, *range(2, rank), 1)
    return (*range(rank - 2), rank - 1, rank - 2)


def permuted(value: Value, axes: tuple[int, ...]) -> Value:
    """``value`` under its own name with its dimensions in another order."""
    shape = tuple(value.shape[axis] for axis in axes)
    return replace(value, shape=shape, strides=tuple(value.strides[axis] for axis in axes))


def in_memory_order(stage: Stage, axes: tuple[int, ...] | None = None) -> Stage:
    """The stage with the dimensions of its result, its operands and what its chain loads in the result's memory order.

    ``axes`` is that order, where several would do (extents of one lie anywhere). Operands have the result's rank.
    The result of this is row-major.
    """
    axes = memory_axes(stage.result) if axes is None else axes
    result = permuted(stage.result, axes)
    result = replace(result, strides=_dense(result.shape))
    chain = tuple(ChainStep(step.text, _permuted_loads(step.expr, axes), step.span) for step in stage.chain)
    operands = tuple(permuted(value, axes) for value in stage.operands)
    return replace(stage, operands=operands, results=(result,), chain=chain)


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def _permuted_loads(expr: Expr, axes: tuple[int, ...]) -> Expr:
    if isinstance(expr, Load):
        return Load(permuted(expr.value, axes))
    if isinstance(expr, Apply):
        return Apply(expr.function, tuple(_permuted_loads(argument, axes) for argument in expr.args))
    assert isinstance(expr, Acc | Const)
    return expr


def turned_axis(extents: Sequence[int], strides: Sequence[Sequence[int]]) -> int | None:
    """The axis along which the most operands lie side by side that do not do so along the last; None for none.

    ``strides`` are the operands' own over the merged ``extents`` of a row-major result, 0 where they repeat.
    """
    last = len(extents) - 1
    count = [0] * len(extents)
    for row in strides:
        for axis in range(last):
            if is_turned(extents, row, axis):
                count[axis] += 1
    best = max(range(len(extents)), key=count.__getitem__)
    return best if count[best] else None


def is_turned(extents: Sequence[int], row: Sequence[int], axis: int) -> bool:
    """Whether the operand with strides ``row`` lies side by side along ``axis`` and not along the last one."""
    return row[-1] > 1 and row[axis] == 1 and extents[axis] >= LEAST_TURNED
