"""Reductions and scans: operations an input element, and what is left to do an output element."""

from __future__ import annotations

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, names, product, rule

_SINGLE = names(
    "sum nansum prod max min amax amin argmax argmin any all cumsum cumprod cummax cummin _cummax_helper count_nonzero "
    "median mode trace"
)
PER_INPUT: dict[str, tuple[int, int, str]] = dict.fromkeys(sorted(_SINGLE), (1, 0, ""))
PER_INPUT |= {
    "mean": (1, 1, "add; divide"),
    "aminmax": (2, 0, "max, min"),
    "var": (4, 1, "add for the mean, subtract, square, add; divide"),
    "std": (4, 2, "add for the mean, subtract, square, add; divide, root"),
    "var_mean": (4, 2, "add for the mean, subtract, square, add; two divides"),
    "std_mean": (4, 3, "add for the mean, subtract, square, add; two divides, root"),
    "norm": (2, 1, "square, add; root"),
    "linalg_vector_norm": (2, 1, "square, add; root"),
    "linalg_norm": (2, 1, "square, add; root"),
    "frobenius_norm": (2, 1, "square, add; root"),
    "logcumsumexp": (4, 0, "max, subtract, exp, add"),
    "dist": (3, 0, "subtract, square, add"),
}
"""Operations an input element, an output element, and which."""


@rule(*PER_INPUT)
def count(call: Call) -> Cost:
    """The table's two numbers times the elements that go in and come out."""
    if call.op in ("max", "min") and len(call.operands) == 2:
        flops, formula = product("ops·elements", 1, *(call.out.shape or (1,)))
        return Cost("vector", flops, formula)
    each, after, parts = PER_INPUT[call.op]
    given, left = call.first.elements, call.out.elements
    flops = each * given + after * left
    formula = f"ops·inputs = {each}·{given:,}"
    if after:
        formula = f"ops·inputs + ops·outputs = {each}·{given:,} + {after}·{left:,}"
    return Cost("vector", flops, f"{formula} = {flops:,} ({parts})" if parts else f"{formula} = {flops:,}")
