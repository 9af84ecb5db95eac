"""Scaled dot-product attention in all its ATen names. The causal half is left out of the floor, not of the count."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, product, rule

_CAUSAL_AT = {
    "scaled_dot_product_attention": 5,
    "_scaled_dot_product_flash_attention": 4,
    "_scaled_dot_product_flash_attention_for_cpu": 4,
    "_scaled_dot_product_efficient_attention": 6,
    "_scaled_dot_product_cudnn_attention": 6,
    "_scaled_dot_product_attention_math": 5,
    "_scaled_dot_product_attention_math_for_mps": 5,
    "_scaled_dot_product_fused_attention_overrideable": 5,
}
ATTENTIONS = frozenset(_CAUSAL_AT)
"""Packet names of attention as one operation."""


@dataclass(frozen=True, slots=True)
class Attention:
    """[B·H, L, E] × [B·H, S, E] × [B·H, S, V]."""

    heads: int
    queries: int
    keys: int
    width: int
    value_width: int
    causal: bool
    masked: bool


def describe(call: Call) -> Attention:
    """The attention behind a call of any of these operations."""
    query, key, value = call.tensor(0, "query"), call.tensor(1, "key"), call.tensor(2, "value")
    if query is None or key is None or value is None:
        raise ValueError(f"{call.node.name} lacks query, key or value")
    return Attention(
        heads=math.prod(query.shape[:-2]),
        queries=query.shape[-2],
        keys=key.shape[-2],
        width=query.shape[-1],
        value_width=value.shape[-1],
        causal=bool(call.argument(_CAUSAL_AT[call.op], "is_causal", False)),
        masked=call.tensor(3, "attn_mask") is not None,
    )


@rule(*ATTENTIONS)
def count(call: Call) -> tuple[Cost, ...]:
    """``2·H·L·S·(E + V)`` at the matrix pipe, and six an element of the scores (scale and softmax)."""
    shape = describe(call)
    flops, formula = product(
        "2·H·L·S·(E + V)", 2, shape.heads, shape.queries, shape.keys, shape.width + shape.value_width
    )
    vector, text = product("6·H·L·S", 6, shape.heads, shape.queries, shape.keys)
    softmax = Cost("vector", vector, f"{text} (scale, max, subtract, exp, add, divide)", 0, 0)
    return Cost("matrix", flops, formula, writes=call.out.bytes), softmax
