"""Sorts and selections: comparisons of a merge sort, ``n·⌈log2 n⌉``; of a heap of k, ``n·⌈log2(k + 1)⌉``."""

from __future__ import annotations

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, rule


def _comparisons(call: Call, depth_of: int, symbol: str) -> Cost:
    elements = call.first.elements
    depth = max(1, (depth_of - 1).bit_length())
    flops = elements * depth
    return Cost("vector", flops, f"elements·⌈log2 {symbol}⌉ = {elements:,}·{depth} = {flops:,}")


@rule("sort", "argsort", "msort", "unique", "_unique2", "unique_dim", "unique_consecutive")
def sort(call: Call) -> Cost:
    """Along one axis; where its place is not plain, over the last."""
    shape = call.first.shape
    axis = call.argument(1, "dim", -1)
    if isinstance(axis, bool) or not isinstance(axis, int):
        axis = call.argument(2, "dim", -1)
    length = shape[axis] if shape and isinstance(axis, int) else call.first.elements
    return _comparisons(call, length, "n")


@rule("topk", "kthvalue")
def topk(call: Call) -> Cost:
    """A heap of k."""
    return _comparisons(call, int(call.number(1, "k", 1)) + 1, "(k + 1)")


@rule("searchsorted", "bucketize")
def searchsorted(call: Call) -> Cost:
    """A binary search an element."""
    boundaries = call.operands[-1]
    depth = max(1, (max(boundaries.shape[-1] if boundaries.shape else 1, 2) - 1).bit_length())
    flops = call.out.elements * depth
    return Cost("vector", flops, f"elements·⌈log2 n⌉ = {call.out.elements:,}·{depth} = {flops:,}")


@rule("histc", "bincount")
def histogram(call: Call) -> Cost:
    """Three an element: scale, round, add."""
    elements = call.first.elements
    return Cost("vector", 3 * elements, f"3·elements = {3 * elements:,}")
