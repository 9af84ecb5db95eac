"""What kind of problem it is, by the operation that does most of its work: for filters, not for bounds."""

from __future__ import annotations

from sol.bounds.record import Work, WorkItem

_BY_PART = (
    ("attention", ("attention",)),
    ("convolution", ("conv",)),
    ("recurrent", ("lstm", "gru", "rnn")),
    ("gemm", ("mm", "matmul", "linear", "mv", "dot")),
    ("softmax", ("softmax", "logsumexp")),
    ("norm", ("norm",)),
    ("pooling", ("pool",)),
    ("loss", ("loss", "kl_div", "cross_entropy")),
    ("scan", ("cumsum", "cumprod", "logcumsumexp")),
    ("reduction", ("sum", "mean", "max", "min", "amax", "amin", "argmax", "argmin", "prod", "var", "std")),
    ("embedding", ("embedding", "index_select", "gather")),
)


def kind_of(op: str) -> str:
    """``aten.addmm.default`` -> ``gemm``; ``elementwise`` for what no family names."""
    name = op.split(".")[1] if "." in op else op
    for kind, parts in _BY_PART:
        if kind == "reduction":
            if name in parts:
                return kind
        elif any(part in name for part in parts):
            return kind
    return "elementwise"


def dominant_kind(work: Work) -> str:
    """The kind of the operation with the most matrix work; without any, of the one that moves the most bytes.

    Elementwise operations count only where there is nothing else: a norm spelled out in elementwise steps and a
    reduction is a reduction.
    """
    if not work.items:
        return "elementwise"
    matrix = [item for item in work.items if item.pipe == "matrix"]
    if matrix:
        return kind_of(max(matrix, key=lambda item: item.flops).op)
    named = [item for item in work.items if kind_of(item.op) != "elementwise"]
    return kind_of(max(named or list(work.items), key=_moved).op)


def _moved(item: WorkItem) -> int:
    return item.bytes_read + item.bytes_written
