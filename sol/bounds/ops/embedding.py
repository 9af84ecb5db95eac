"""Lookups by index: no arithmetic but what a bag adds up; the bytes of the rows that are looked up."""

from __future__ import annotations

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, rule


@rule("embedding")
def embedding(call: Call) -> Cost:
    """One row an index is read and written."""
    indices = call.tensor(1, "indices")
    read = call.out.bytes + (indices.bytes if indices is not None else 0)
    return Cost("none", 0, "no arithmetic: one row an index", reads=read)


@rule("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(call: Call) -> Cost:
    """One addition an element of each row that is looked up."""
    indices = call.tensor(1, "indices")
    rows = indices.elements if indices is not None else 0
    flops = rows * call.first.shape[-1]
    return Cost("vector", flops, f"indices·width = {rows:,}·{call.first.shape[-1]} = {flops:,}",
                reads=flops * call.first.dtype.bytes)  # fmt: skip


@rule("one_hot")
def one_hot(call: Call) -> Cost:
    """One write an element."""
    return Cost("none", 0, "no arithmetic")
