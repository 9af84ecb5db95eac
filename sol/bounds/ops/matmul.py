"""Matrix products: two FLOPs (a multiplication and an addition) for each output element and each term of its sum."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, product, rule


@dataclass(frozen=True, slots=True)
class Extents:
    """A batched product [B, M, K] × [B, K, N]."""

    batch: int
    m: int
    n: int
    k: int


_OPERANDS = {
    "mm": (0, 1), "bmm": (0, 1), "matmul": (0, 1), "dot": (0, 1), "vdot": (0, 1), "mv": (0, 1), "outer": (0, 1),
    "addmm": (1, 2), "baddbmm": (1, 2), "addmv": (1, 2), "addbmm": (1, 2), "linear": (0, 1), "addr": (1, 2),
}  # fmt: skip
MATMULS = frozenset(_OPERANDS)
"""Packet names of all matrix products."""


def operand_positions(op: str) -> tuple[int, int]:
    """Where the two factors stand among the arguments."""
    return _OPERANDS[op]


def extents(call: Call) -> Extents:
    """B, M, N, K of any matrix product; vectors count as matrices of one row or column."""
    left_at, right_at = operand_positions(call.op)
    left = call.tensor(left_at, "input" if call.op == "linear" else "self")
    right = call.tensor(right_at, "weight" if call.op == "linear" else "other")
    if left is None or right is None:
        raise ValueError(f"{call.node.name} lacks a factor")
    a, b = left.shape, right.shape
    if call.op in ("outer", "addr"):
        return Extents(1, a[0], b[0], 1)
    if call.op == "linear":
        # [*, K] × [N, K] transposed; a one-dimensional weight gives one number a row.
        return Extents(1, math.prod(a[:-1]), b[0] if len(b) > 1 else 1, a[-1])
    if call.op == "addbmm":
        return Extents(1, a[1], b[2], a[0] * a[2])
    m = a[-2] if len(a) > 1 else 1
    n = b[-1] if len(b) > 1 else 1
    out = call.out.elements
    batch = out // (m * n) if m * n else 0
    if len(b) <= 2 and len(a) > 2:
        # One right factor for the whole batch: the same as one product with B·M rows.
        return Extents(1, batch * m, n, a[-1])
    return Extents(batch, m, n, a[-1])


@rule(*MATMULS)
def count(call: Call) -> tuple[Cost, ...]:
    """``2·B·M·N·K``, and one addition an output element where something is added."""
    size = extents(call)
    if size.batch == 1:
        flops, formula = product("2·M·N·K", 2, size.m, size.n, size.k)
    else:
        flops, formula = product("2·B·M·N·K", 2, size.batch, size.m, size.n, size.k)
    costs = [Cost("matrix", flops, formula)]
    if _adds(call):
        added, text = product("output elements", *(call.out.shape or (1,)))
        costs.append(Cost("vector", added, f"1 addition · {text}", 0, 0))
    return tuple(costs)


def _adds(call: Call) -> bool:
    if call.op == "linear":
        return call.tensor(2, "bias") is not None
    return call.op.startswith("add") or call.op.startswith("badd")
