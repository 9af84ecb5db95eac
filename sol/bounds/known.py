"""Tensors made of constructors alone, by value: masks and positions that the reference writes out itself.

A mask of ``arange`` and comparisons says exactly which scores are used. Nothing that depends on an input, a parameter
or a buffer is known here, and nothing larger than MOST elements is worked out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.dtypes import DType
from sol.bounds.demand_views import bounds_of_slice
from sol.bounds.graph import UNFAMILIAR, Call, GraphView, Value

MOST = 2**24
"""Elements of the largest tensor that is worked out."""

Known = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Kept:
    """What a mask lets through: how much, and whether it lies on one side of the last two axes' diagonal."""

    share: float
    triangle: bool


_INTEGERS = {DType.I64: np.int64, DType.I32: np.int64, DType.I16: np.int64, DType.I8: np.int64, DType.U8: np.int64}


def known(view: GraphView, value: Value) -> Known | None:
    """The elements of a tensor, or None where data decides them, an operation is not among these, or it is large."""
    if value not in view.known:
        view.known[value] = None  # for a graph that turns out to be no graph
        view.known[value] = _work_out(view, value)
    found: Known | None = view.known[value]
    return found


def _work_out(view: GraphView, value: Value) -> Known | None:
    node = view.producers.get(value[0])
    if node is None or value[1] != 0 or len(node.results) != 1 or node.results[0].elements > MOST:
        return None
    call = view.call(node)
    rule = _RULES.get(call.op)
    if rule is None:
        return None
    operands = [known(view, each) for each in call.values]
    if any(operand is None for operand in operands):
        return None
    try:
        made = rule(call, [operand for operand in operands if operand is not None])
        return _as(call.out.dtype, np.broadcast_to(made, call.out.shape))
    except UNFAMILIAR:
        return None


def _as(dtype: DType, array: Known) -> Known:
    if dtype is DType.BOOL:
        return array.astype(np.bool_, copy=False)
    return array.astype(_INTEGERS.get(dtype, np.float64), copy=False)


def _filled(call: Call, _: list[Known]) -> Known:
    place = 0 if call.op == "scalar_tensor" else 1
    value = {"zeros": 0, "zeros_like": 0, "ones": 1, "ones_like": 1}.get(call.op)
    if value is None:
        value = call.argument(place, "s" if place == 0 else "fill_value")
    return np.asarray(float(value)) if not isinstance(value, bool) else np.asarray(value)


def _arange(call: Call, _: list[Known]) -> Known:
    given = [item for item in call.node.args if isinstance(item, int | float)]
    return np.arange(*given)[: call.out.elements]


def _two(operation: Callable[[Any, Any], Known]) -> Callable[[Call, list[Known]], Known]:
    """An operation of two operands, of which one may be a number."""

    def rule(call: Call, operands: list[Known]) -> Known:
        if call.number(2, "alpha", 1) != 1:
            raise ValueError("a factor alpha")
        if len(operands) == 2:
            return operation(*operands)
        first, second = call.argument(0, "self"), call.argument(1, "other")
        return operation(first, operands[0]) if isinstance(first, int | float) else operation(operands[0], second)

    return rule


def _shifted_triangle(call: Call, operands: list[Known]) -> Known:
    keep = np.tril if call.op == "tril" else np.triu
    return keep(operands[0], int(call.number(1, "diagonal", 0)))


def _reshape(call: Call, operands: list[Known]) -> Known:
    return operands[0].reshape(call.out.shape)


def _permute(call: Call, operands: list[Known]) -> Known:
    rank = operands[0].ndim
    if call.op == "permute":
        return operands[0].transpose(call.integers(1, "dims", ()))
    if call.op == "t":
        return operands[0].T
    return operands[0].swapaxes(int(call.number(1, "dim0", 0)) % rank, int(call.number(2, "dim1", 0)) % rank)


def _slice(call: Call, operands: list[Known]) -> Known:
    place, places = bounds_of_slice(call, call.first.shape, 1)
    return operands[0][(slice(None),) * place + (places,)]


def _where(call: Call, operands: list[Known]) -> Known:
    if len(operands) != 3:
        raise ValueError("a number among the operands")
    return np.where(operands[0], operands[1], operands[2])


def _same(call: Call, operands: list[Known]) -> Known:
    return operands[0]


_RULES: dict[str, Callable[[Call, list[Known]], Known]] = {
    **dict.fromkeys(("full", "full_like", "zeros", "zeros_like", "ones", "ones_like", "scalar_tensor"), _filled),
    **dict.fromkeys(("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze"), _reshape),
    **dict.fromkeys(("clone", "alias", "detach", "_to_copy", "to", "expand", "lift_fresh_copy"), _same),
    **dict.fromkeys(("permute", "transpose", "t"), _permute),
    **dict.fromkeys(("tril", "triu"), _shifted_triangle),
    **dict.fromkeys(("logical_not", "bitwise_not"), lambda call, operands: ~operands[0].astype(np.bool_)),
    **dict.fromkeys(("logical_and", "bitwise_and"), _two(np.logical_and)),
    **dict.fromkeys(("logical_or", "bitwise_or"), _two(np.logical_or)),
    "arange": _arange,
    "eye": lambda call, operands: np.eye(call.out.shape[0], call.out.shape[1]),
    "slice": _slice,
    "where": _where,
    "add": _two(np.add),
    "sub": _two(np.subtract),
    "mul": _two(np.multiply),
    "ge": _two(np.greater_equal),
    "gt": _two(np.greater),
    "le": _two(np.less_equal),
    "lt": _two(np.less),
    "eq": _two(np.equal),
    "ne": _two(np.not_equal),
}


def kept_by(call: Call, value: Value) -> Kept | None:
    """Which elements of an operand a mask lets through, where that mask is known: ``where``, ``masked_fill``, ``mul``.

    None where no known mask stands between operand and result.
    """
    if call.op not in ("where", "masked_fill", "mul"):
        return None
    place = (call.node.name, value)
    if place not in call.view.kept:
        mask = _kept_by(call, value)
        call.view.kept[place] = None if mask is None or not mask.size else _described(mask)
    found: Kept | None = call.view.kept[place]
    return found


def _described(mask: Known) -> Kept:
    row, column = np.ogrid[: mask.shape[-2], : mask.shape[-1]] if mask.ndim >= 2 else (np.zeros(1), np.zeros(1))
    triangle = mask.ndim >= 2 and (
        not bool((mask & (column > row)).any()) or not bool((mask & (column < row)).any())
    )
    return Kept(share=float(mask.mean()), triangle=triangle and not bool(mask.all()))


def _kept_by(call: Call, value: Value) -> Known | None:
    if call.op == "where" and len(call.node.args) == 3:
        condition = call.value(0, "condition")
        mask = None if condition is None or condition == value else known(call.view, condition)
        if mask is None or call.value(1, "self") == call.value(2, "other"):
            return None
        return mask.astype(np.bool_) if call.value(1, "self") == value else ~mask.astype(np.bool_)
    if call.op == "masked_fill" and call.value(0, "self") == value:
        condition = call.value(1, "mask")
        mask = None if condition is None else known(call.view, condition)
        return None if mask is None else ~mask.astype(np.bool_)
    if call.op == "mul" and len(call.values) == 2 and len(set(call.values)) == 2:
        other = call.values[1] if call.values[0] == value else call.values[0]
        factor = known(call.view, other)
        return None if factor is None or factor.ndim < 2 else factor != 0
    return None
