"""How long the longest sum of a problem is: the error that an honest FP32 result may have grows with it."""

from __future__ import annotations

from math import prod
from typing import Any

from kernels.problems.inspection import Graph, Inspection, Node

_PRODUCTS = {"mm": 0, "addmm": 1, "bmm": 0, "baddbmm": 1, "linear": 0, "matmul": 0, "mv": 0, "dot": 0}
_CONVOLUTIONS = ("convolution", "conv1d", "conv2d", "conv3d", "_convolution")
_SUMS = (
    "sum", "mean", "var", "var_mean", "std", "norm", "linalg_vector_norm", "logsumexp", "_softmax", "_log_softmax",
    "softmax", "log_softmax", "cumsum", "prod", "native_layer_norm", "native_group_norm", "layer_norm", "rms_norm",
)  # fmt: skip


def longest_reduction(inspection: Inspection) -> int:
    """The most terms that one output element of one operation sums; 1 where nothing is summed or nothing is known."""
    if inspection.graph is None:
        return 1
    shapes = _shapes(inspection, inspection.graph)
    return max((_terms(node, shapes) for node in inspection.graph.nodes), default=1)


def _shapes(inspection: Inspection, graph: Graph) -> dict[str, tuple[int, ...]]:
    specs = (*inspection.signature.inputs, *inspection.signature.parameters)
    shapes = {spec.name: spec.shape for spec in specs}
    shapes |= {name: spec.shape for name, spec in graph.scalars.items()}
    for node in graph.nodes:
        if node.results:
            shapes[node.name] = node.results[0].shape
    return shapes


def _shape(argument: Any, shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    if isinstance(argument, dict) and "ref" in argument:
        return shapes.get(argument["ref"], ())
    return ()


def _terms(node: Node, shapes: dict[str, tuple[int, ...]]) -> int:
    name = node.op.split(".")[1] if "." in node.op else node.op
    if name in _PRODUCTS and len(node.args) > _PRODUCTS[name]:
        shape = _shape(node.args[_PRODUCTS[name]], shapes)
        return shape[-1] if shape else 1
    if name in _CONVOLUTIONS and len(node.args) > 1:
        weight = _shape(node.args[1], shapes)
        # For a transposed convolution this counts output channels in place of input channels: the same order.
        return prod(weight[1:]) if weight else 1
    if name in _SUMS and node.args:
        before = prod(_shape(node.args[0], shapes))
        after = prod(node.results[0].shape) if node.results else 1
        same = bool(node.results) and before == after
        last = _shape(node.args[0], shapes)[-1:]
        return max(last[0] if same and last else before // max(after, 1), 1)
    return 1
