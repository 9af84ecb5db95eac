"""Operations that move data without arithmetic: what is read and written counts, FLOPs there are none."""

from __future__ import annotations

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, names, rule

COPIES = names(
    "clone contiguous _to_copy to copy type_as _conj_physical resolve_conj lift_fresh convert_element_type"
)
"""Packet names whose result has the operand's elements in the same places."""


MOVES = names(
    "cat stack hstack vstack repeat repeat_interleave roll flip rot90 tile constant_pad_nd pad tril triu diag_embed "
    "diag reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d "
    "im2col col2im pixel_shuffle pixel_unshuffle channel_shuffle meshgrid broadcast_tensors cartesian_prod "
    "select_scatter slice_scatter diagonal_scatter as_strided_scatter view_copy permute_copy expand_copy select_copy "
    "slice_copy transpose_copy unsqueeze_copy squeeze_copy split_copy unbind_copy as_strided_copy"
)
"""Packet names of whatever else moves data."""


@rule(*COPIES, *MOVES)
def copy(call: Call) -> Cost:
    """Results written; of the operands no more read than is written."""
    written = sum(spec.bytes for spec in call.node.results)
    read = min(sum(spec.bytes for spec in call.operands), written)
    return Cost("none", 0, "no arithmetic: data moves", read, written)


@rule("gather", "index_select", "index", "_unsafe_index", "take", "take_along_dim", "masked_select", "nonzero")
def pick(call: Call) -> Cost:
    """As many elements as come out are read, and the indices."""
    written = sum(spec.bytes for spec in call.node.results)
    indices = sum(spec.bytes for spec in call.operands[1:])
    return Cost("none", 0, "no arithmetic: data moves", written + indices, written)


@rule(
    "scatter", "index_copy", "index_fill", "index_put", "_unsafe_index_put", "masked_scatter", "put", "scatter_src"
)
def place(call: Call) -> Cost:
    """All operands are read, the result written."""
    return Cost("none", 0, "no arithmetic: data moves")


@rule("scatter_add", "index_add", "scatter_reduce")
def accumulate(call: Call) -> Cost:
    """One addition an element that arrives."""
    source = call.operands[-1].elements
    return Cost("vector", source, f"arriving elements = {source:,}")
