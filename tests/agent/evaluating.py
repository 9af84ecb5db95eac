"""Evaluates a checked program with numpy in float64, to see that a change of structure keeps what it computes.

Knows the handful of functions that the tests use. It is no reference for any target.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernels.dsl.ir import Acc, Apply, CheckedProgram, Const, Expr, Load, Stage, Value
from kernels.dtypes import DType

Array = NDArray[np.float64]

_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "tanh": np.tanh,
    "exp": np.exp,
    "max": np.maximum,
    "relu": lambda x: np.maximum(x, 0),
}


def evaluate(program: CheckedProgram, seed: int = 0) -> list[Array]:
    """The outputs for inputs and parameters drawn by name, so that every version of a program gets the same ones."""
    memory: dict[str, Array] = {}
    for value in (*program.inputs, *program.parameters):
        chance = np.random.default_rng([seed, *value.name.encode()])
        memory[value.name] = chance.uniform(-1, 1, value.elements)
    for stage in program.stages:
        memory[stage.result.name] = _rounded(_stage(stage, memory), stage.result.dtype).ravel()
    return [_view(output, memory) for output in program.outputs]


def _stage(stage: Stage, memory: dict[str, Array]) -> Array:
    operands = [_view(value, memory) for value in stage.operands]
    result: Array = np.zeros(stage.result.shape)
    if stage.op in ("gemm", "bmm"):
        result = operands[0] @ operands[1]
    elif stage.op == "cast":
        result = operands[0]
    for step in stage.chain:
        result = _expr(step.expr, result, memory)
    return np.broadcast_to(result, stage.result.shape).copy()


def _expr(expr: Expr, acc: Array, memory: dict[str, Array]) -> Array:
    if isinstance(expr, Acc):
        return acc
    if isinstance(expr, Const):
        return np.asarray(expr.value)
    if isinstance(expr, Load):
        return _view(expr.value, memory)
    assert isinstance(expr, Apply)
    return _FUNCTIONS[expr.function](*(_expr(arg, acc, memory) for arg in expr.args))


def _view(value: Value, memory: dict[str, Array]) -> Array:
    storage = memory[value.storage][value.offset :]
    strides = tuple(stride * storage.itemsize for stride in value.strides)
    return np.lib.stride_tricks.as_strided(storage, value.shape, strides)


def _rounded(array: Array, dtype: DType) -> Array:
    return array.astype(np.float16).astype(np.float64) if dtype is DType.F16 else array
