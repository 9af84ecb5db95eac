"""Second pass: everything that is a matrix product becomes ``mm`` or ``bmm``, with what it adds as its own node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernels.problems.inspection import Node
from kernels.translate.work import FLOATS, Builder, Work, base, is_ref, number


def expand_products(work: Work) -> None:
    """Rewrite addmm, baddbmm, addmv, mv, dot, linear and 1x1 convolutions; leave what own kernels cannot do."""
    nodes: list[Node] = []
    taken: set[str] = set()
    for node in work.nodes:
        rule = _RULES.get(base(node.op))
        builder = Builder(work, taken)
        if rule is not None and _computable(work, node) and rule(builder, node):
            nodes += builder.nodes
        else:
            nodes.append(node)
    work.set_nodes(nodes)


def _computable(work: Work, node: Node) -> bool:
    dtype = node.results[0].dtype
    return dtype in FLOATS and all(work.spec(arg).dtype is dtype for arg in node.args if is_ref(arg))


def _plus(builder: Builder, node: Node, product: dict[str, Any], addend: Any, beta: Any, alpha: Any) -> None:
    """``beta·addend + alpha·product`` under the node's own name."""
    result = node.results[0]
    if number(alpha) not in (1, None):
        product = builder.add("aten.mul.Tensor", (product, alpha), result.dtype, builder.spec(product).shape)
    product = builder.view(product, result.shape)
    if number(beta) not in (1, None):
        addend = builder.add("aten.mul.Tensor", (addend, beta), result.dtype, builder.spec(addend).shape)
    builder.add("aten.add.Tensor", (product, addend), result.dtype, result.shape, node.name)


def _addmm(builder: Builder, node: Node) -> bool:
    addend, left, right = node.args[:3]
    m, n = builder.spec(left).shape[0], builder.spec(right).shape[1]
    product = builder.add("aten.mm.default", (left, right), node.results[0].dtype, (m, n))
    _plus(builder, node, product, addend, node.kwargs.get("beta"), node.kwargs.get("alpha"))
    return True


def _baddbmm(builder: Builder, node: Node) -> bool:
    addend, left, right = node.args[:3]
    batch, m, _ = builder.spec(left).shape
    shape = (batch, m, builder.spec(right).shape[2])
    product = builder.add("aten.bmm.default", (left, right), node.results[0].dtype, shape)
    _plus(builder, node, product, addend, node.kwargs.get("beta"), node.kwargs.get("alpha"))
    return True


def _product_with_vector(builder: Builder, matrix: dict[str, Any], vector: dict[str, Any]) -> dict[str, Any]:
    m, k = builder.spec(matrix).shape
    dtype = builder.spec(matrix).dtype
    return builder.add("aten.mm.default", (matrix, builder.view(vector, (k, 1))), dtype, (m, 1))


def _mv(builder: Builder, node: Node) -> bool:
    product = _product_with_vector(builder, node.args[0], node.args[1])
    builder.view(product, node.results[0].shape, node.name)
    return True


def _addmv(builder: Builder, node: Node) -> bool:
    product = _product_with_vector(builder, node.args[1], node.args[2])
    _plus(builder, node, product, node.args[0], node.kwargs.get("beta"), node.kwargs.get("alpha"))
    return True


def _dot(builder: Builder, node: Node) -> bool:
    left, right = node.args[:2]
    (k,) = builder.spec(left).shape
    product = _product_with_vector(builder, builder.view(left, (1, k)), right)
    builder.view(product, (), node.name)
    return True


def _linear(builder: Builder, node: Node) -> bool:
    left, weight, *rest = node.args
    result = node.results[0]
    n, k = builder.spec(weight).shape
    rows = builder.spec(left).elements // k
    turned = builder.add("aten.permute.default", (weight, [1, 0]), result.dtype, (k, n))
    flat = builder.view(left, (rows, k))
    product = builder.add("aten.mm.default", (flat, turned), result.dtype, (rows, n))
    if rest and rest[0] is not None:
        _plus(builder, node, product, rest[0], None, None)
    else:
        builder.view(product, result.shape, node.name)
    return True


def _convolution(builder: Builder, node: Node) -> bool:
    """A 1x1 convolution: for each image, weight[O, I] times pixels[I, H·W]."""
    source, weight, bias, stride, padding, _, transposed, _, groups = node.args[:9]
    kernel = builder.spec(weight).shape
    if any(extent != 1 for extent in kernel[2:]) or transposed or groups != 1:
        return False
    if any(step != 1 for step in stride) or any(padding):
        return False
    result = node.results[0]
    batch, channels, *pixels = builder.spec(source).shape
    count = 1
    for extent in pixels:
        count *= extent
    wide = builder.view(weight, (1, kernel[0], channels))
    repeated = (batch, kernel[0], channels)
    wide = builder.add("aten.expand.default", (wide, list(repeated)), result.dtype, repeated)
    flat = builder.view(source, (batch, channels, count))
    shape = (batch, kernel[0], count)
    product = builder.add("aten.bmm.default", (wide, flat), result.dtype, shape)
    if bias is None:
        builder.view(product, result.shape, node.name)
        return True
    column = builder.view(bias, (kernel[0], 1))
    total = builder.add("aten.add.Tensor", (product, column), result.dtype, shape)
    builder.view(total, result.shape, node.name)
    return True


_RULES: dict[str, Callable[[Builder, Node], bool]] = {
    "addmm": _addmm,
    "baddbmm": _baddbmm,
    "mv": _mv,
    "addmv": _addmv,
    "dot": _dot,
    "linear": _linear,
    "convolution": _convolution,
}
