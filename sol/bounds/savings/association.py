"""Chains of two products without anything but linear steps in between: ``(A·B)·C`` may be ``A·(B·C)``.

A mask or an element-wise factor in between is looked past: with the structured masks of linear attention and of
state-space models, chunked and recurrent forms reach the cheaper order's count.
"""

from __future__ import annotations

from sol.bounds.graph import Call, GraphView, Value
from sol.bounds.ops.matmul import MATMULS, extents, operand_positions
from sol.bounds.ops.movement import COPIES
from sol.bounds.ops.registry import names
from sol.bounds.ops.views import PERMUTES, RESHAPES

_MULTILINEAR = (
    RESHAPES | PERMUTES | COPIES | names("mul div add sub neg squeeze unsqueeze expand where masked_fill tril triu")
)
_FAR = 12


def cheaper_orders(view: GraphView) -> dict[str, float]:
    """By product: the share of the FLOPs left when the cheaper of two orders is taken, where that is another one."""
    shares: dict[str, float] = {}
    for node in view.nodes:
        call = view.call(node)
        if call.op not in MATMULS or call.op in ("outer", "addr", "addbmm", "dot", "vdot"):
            continue
        for place, side in zip(operand_positions(call.op), ("left", "right"), strict=True):
            value = call.value(place, "self" if side == "left" else "weight" if call.op == "linear" else "other")
            inner = _product_behind(view, value) if value is not None else None
            if inner is not None:
                share = _share(inner, call, side)
                if share < 1:
                    for name in (node.name, inner.node.name):
                        shares[name] = min(share, shares.get(name, 1.0))
    return shares


def _product_behind(view: GraphView, value: Value) -> Call | None:
    """The product that made a factor, if linear steps alone lie between and nothing else uses it."""
    for _ in range(_FAR):
        node = view.producers.get(value[0])
        if node is None or len(view.users.get(value, [])) > 1:
            return None
        call = view.call(node)
        if call.op in MATMULS:
            return call
        if call.op not in _MULTILINEAR or not call.values:
            return None
        value = max(call.values, key=lambda each: (_leads_to_product(view, each), view.spec(each).elements))
    return None


def _leads_to_product(view: GraphView, value: Value) -> bool:
    node = view.producers.get(value[0])
    return node is not None and view.call(node).op in MATMULS


def _share(inner: Call, outer: Call, side: str) -> float:
    i, o = extents(inner), extents(outer)
    if i.batch != o.batch:
        return 1.0
    now = i.m * i.n * i.k + o.m * o.n * o.k
    if side == "left":
        # [m, k]·[k, n] then ·[n, p]
        other = i.k * i.n * o.n + i.m * i.k * o.n if i.n == o.k else now
    else:
        # [p, m]·([m, k]·[k, n])
        other = o.m * i.m * i.k + o.m * i.k * i.n if i.m == o.k else now
    return min(1.0, other / now) if now else 1.0
