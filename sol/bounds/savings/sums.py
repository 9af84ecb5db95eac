"""Sums of products: where only a sum of a product's elements is used, the factors are summed first.

``Σ_n x·w_n = x·Σ_n w_n`` makes a GEMM a matrix-vector product; a mean over a convolution's pixels is a convolution of
window sums; an average pool after a convolution is a convolution at fewer places. Works through everything linear in
between. A maximum over p elements that is then summed needs only p - 1 differences an output.
"""

from __future__ import annotations

import math

from sol.bounds.graph import Call, GraphView, Value
from sol.bounds.ops.matmul import MATMULS, extents
from sol.bounds.ops.movement import COPIES
from sol.bounds.ops.normalisation import BATCH_NORMS, trains
from sol.bounds.ops.pooling import ADAPTIVE_AVG_POOLS, AVG_POOLS, MAX_POOLS, window
from sol.bounds.ops.registry import names
from sol.bounds.ops.views import PERMUTES, RESHAPES

_LINEAR = (
    RESHAPES
    | PERMUTES
    | COPIES
    | names(
        "add sub rsub neg squeeze unsqueeze expand slice select cat constant_pad_nd split unbind dropout flip roll "
        "pixel_shuffle pixel_unshuffle"
    )
)
_REDUCED = frozenset({"sum", "mean"})


def summed(view: GraphView) -> dict[Value, float]:
    """How many elements of a tensor go into each number that is used, for tensors of which only sums are used."""
    factors: dict[Value, float] = {}
    outputs = set(view.outputs)
    for node in reversed(view.nodes):
        for index in range(len(node.results)):
            value = (node.name, index)
            users = view.users.get(value, [])
            if value in outputs or not users:
                continue
            factor = min(_through(view.call(user), value, factors) for user in users)
            if factor > 1:
                factors[value] = factor
    return factors


def _through(call: Call, value: Value, factors: dict[Value, float]) -> float:
    after = max((factors.get((call.node.name, index), 1.0) for index in range(len(call.node.results))), default=1.0)
    ratio = call.view.spec(value).elements / max(call.out.elements, 1)
    if call.op in _REDUCED or call.op in AVG_POOLS | ADAPTIVE_AVG_POOLS:
        return max(ratio, 1.0) * after
    if call.op in MAX_POOLS and after > 1:
        size = math.prod(window(call))
        return size / (size - 1) if size > 1 else after
    if call.op in ("max", "min", "amax", "amin", "logsumexp", "prod") and ratio == 1 and len(call.values) == 1:
        return after
    return after if _is_linear_in(call, value) else _product(call, after)


def _is_linear_in(call: Call, value: Value) -> bool:
    if call.op in _LINEAR:
        return True
    if call.op in ("mul", "div"):
        if call.op == "div" and call.values[0] != value:
            return False
        others = [other for other in call.values if other != value]
        if len(call.values) == 2 and not others:
            return False  # a square
        return all(call.view.spec(other).elements < call.view.spec(value).elements for other in others)
    return call.op in BATCH_NORMS and not trains(call)


def _product(call: Call, after: float) -> float:
    # A product of which only sums are used is itself a sum over its factor's inner axis.
    if call.op in MATMULS and after > 1:
        return float(max(extents(call).k, 1))
    return 1.0
