"""Pooling: one comparison or addition an element of each window; averages divide once. And resampling."""

from __future__ import annotations

import math

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, product, rule

MAX_POOLS = frozenset(f"max_pool{rank}d{tail}" for rank in (1, 2, 3) for tail in ("", "_with_indices"))
AVG_POOLS = frozenset(f"avg_pool{rank}d" for rank in (1, 2, 3))
ADAPTIVE_AVG_POOLS = frozenset(f"{head}adaptive_avg_pool{rank}d" for rank in (1, 2, 3) for head in ("", "_"))
ADAPTIVE_MAX_POOLS = frozenset(f"adaptive_max_pool{rank}d" for rank in (1, 2, 3))


def rank_of(op: str) -> int:
    """How many spatial axes a pooling has, from its name."""
    return int(op[op.index("pool") + 4])


def window(call: Call) -> tuple[int, ...]:
    """The window of a pooling that names it, by axis."""
    rank = rank_of(call.op)
    kernel = call.integers(1, "kernel_size", (1,))
    return kernel * rank if len(kernel) == 1 else kernel


@rule(*MAX_POOLS)
def max_pool(call: Call) -> Cost:
    """One comparison an element of each window."""
    flops, formula = product("outputs·window", call.out.elements, math.prod(window(call)))
    return Cost("vector", flops, formula)


@rule(*AVG_POOLS)
def avg_pool(call: Call) -> Cost:
    """One addition an element of each window, one division a window."""
    flops, formula = product("outputs·(window + 1)", call.out.elements, math.prod(window(call)) + 1)
    return Cost("vector", flops, formula)


@rule(*ADAPTIVE_AVG_POOLS, *ADAPTIVE_MAX_POOLS)
def adaptive_pool(call: Call) -> Cost:
    """One operation an input element; an average divides once an output element."""
    given, left = call.first.elements, call.out.elements
    if call.op in ADAPTIVE_MAX_POOLS:
        return Cost("vector", given, f"inputs = {given:,}")
    return Cost("vector", given + left, f"inputs + outputs = {given:,} + {left:,} = {given + left:,}")


_RESAMPLING = {"nearest": 0, "linear": 3, "bilinear": 9, "trilinear": 21, "bicubic": 35}


@rule(
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact2d", "upsample_linear1d",
    "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d", "grid_sampler_2d",
)  # fmt: skip
def resample(call: Call) -> Cost:
    """By output element: an interpolation is a subtract, a multiply and an add; one, three or seven of them."""
    kind = next((name for name in ("bilinear", "trilinear", "bicubic", "nearest") if name in call.op), "linear")
    each = _RESAMPLING["bilinear" if call.op == "grid_sampler_2d" else kind]
    flops, formula = product("ops·elements", each, *call.out.shape)
    return Cost("vector", flops, formula)
