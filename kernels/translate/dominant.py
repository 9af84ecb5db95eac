"""Whether the operation that a problem is about is done by an own kernel.

That is the product or convolution with most multiply-adds; where a graph has none, the operation that reads and writes
most elements. It looks at the graph as the passes left it and changes nothing; times are not estimated.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from kernels.problems.inspection import Node
from kernels.translate.conv import is_convolution
from kernels.translate.layout import is_view
from kernels.translate.work import Work, base, refs, words

_CONSTANTS = words("scalar_tensor full full_like zeros ones zeros_like ones_like empty arange eye")
_MATRICES = {
    "mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "mv": (0, 1), "addmv": (1, 2), "dot": (0, 1),
}  # fmt: skip
"""Operations that multiply matrices: the places of both among their arguments."""
_RECURRENT = words("lstm gru rnn_tanh rnn_relu")


def dominant_in_own(work: Work, own: Collection[str]) -> bool | None:
    """Whether the dominating operation is in an own stage; ``own`` names the nodes that own stages hold.

    None where the graph has no operation but views. Of several that are equally large all must be in own stages.
    """
    nodes = [node for node in work.nodes if not is_view(node) and base(node.op) not in _CONSTANTS]
    for size in (multiply_adds, moved_elements):
        sizes = {node.name: size(work, node) for node in nodes}
        most = max(sizes.values(), default=0)
        if most > 0:
            return all(name in own for name, found in sizes.items() if found == most)
    return None


def multiply_adds(work: Work, node: Node) -> int:
    """Of a product, a convolution, an attention or a recurrent layer; 0 for anything else."""
    name, result = base(node.op), node.results[0]
    if name in _MATRICES:
        left, right = (work.spec(node.args[place]) for place in _MATRICES[name])
        # Each element of the left one meets a row of the right one.
        return left.elements * (right.shape[-1] if len(right.shape) > 1 else 1)
    if name in ("linear", "bilinear"):
        weight = work.spec(node.args[1 if name == "linear" else 2])
        return result.elements * math.prod(weight.shape[1:])
    if name == "convolution" or is_convolution(node):
        transposed = node.args[6] if name == "convolution" else "transpose" in name
        source, weight = work.spec(node.args[0]), work.spec(node.args[1])
        return (source if transposed else result).elements * math.prod(weight.shape[1:])
    if "attention" in name:
        query, key, value = (work.spec(arg) for arg in node.args[:3])
        return query.elements * key.shape[-2] + query.elements // query.shape[-1] * key.shape[-2] * value.shape[-1]
    if name in _RECURRENT:
        source = work.spec(node.args[0])
        weights = [work.spec(ref) for ref in refs(node.args[1:])]
        return source.elements // source.shape[-1] * sum(spec.elements for spec in weights if len(spec.shape) == 2)
    return 0


def moved_elements(work: Work, node: Node) -> int:
    """Elements of the tensors that a node reads and writes, each once."""
    read = {
        (ref["ref"], int(ref.get("index", 0))): work.spec(ref).elements for ref in refs([node.args, node.kwargs])
    }
    return sum(read.values()) + sum(spec.elements for spec in node.results)
