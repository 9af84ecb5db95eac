"""Convolutions become conv nodes, each the root of an own stage, with their bias as a node of its own.

A conv node's operation is ``conv.NAME``, with NAME a convolution stage of the language. What stays as it is, for the
library: element types that the target's own kernels do not have. Convolutions with kernels of one element are matrix
products by then (``matmul``).
"""

from __future__ import annotations

from typing import Any

from kernels.dsl import views
from kernels.dsl.ir import Value
from kernels.dsl.ops import CONVOLUTIONS, TYPES
from kernels.dtypes import DType
from kernels.problems.inspection import Node
from kernels.targets import Target
from kernels.translate.work import FLOATS, Builder, Work, base, is_ref

_DEFAULTS = {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1}


def expand_convolutions(work: Work, target: Target) -> None:
    """Rewrite what own kernels of ``target`` can do."""
    nodes: list[Node] = []
    taken: set[str] = set()
    for node in work.nodes:
        if base(node.op) == "convolution" and _computable(work, node, target):
            builder = Builder(work, taken)
            _expand(builder, node)
            nodes += builder.nodes
        else:
            nodes.append(node)
    work.set_nodes(nodes)


def is_convolution(node: Node) -> bool:
    """Whether a node is one of the conv nodes that this pass made."""
    return node.op.startswith("conv.")


def _computable(work: Work, node: Node, target: Target) -> bool:
    dtype = node.results[0].dtype
    specs = [work.spec(arg) for arg in node.args if is_ref(arg)]
    legal = dtype in FLOATS and dtype in TYPES.get(target, {}).get("conv", ())
    return legal and not node.kwargs and all(spec.dtype is dtype and spec.elements > 0 for spec in specs)


def _expand(builder: Builder, node: Node) -> None:
    source, weight, bias, stride, padding, dilation, transposed, output_padding, groups = node.args[:9]
    result = node.results[0]
    dims = len(builder.spec(weight).shape) - 2
    numbers = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if transposed:
        numbers["output_padding"] = output_padding
    op = f"conv.conv{'_transpose' if transposed else ''}{dims}d"
    args = (source, weight, numbers)
    made = builder.add(op, args, result.dtype, result.shape, node.name if bias is None else None)
    if bias is not None:
        column = builder.view(bias, (result.shape[1], *(1,) * dims))
        builder.add("aten.add.Tensor", (made, column), result.dtype, result.shape, node.name)


def call_text(node: Node, x: Value, weight: Value) -> str:
    """The stage's call, numbers that are the defaults left out.

    Where x lies row-major and channels-last at once, as with one pixel, the layout is said: targets choose differently.
    """
    name = base(node.op)
    dims = CONVOLUTIONS[name][1]
    parts = [x.name, weight.name]
    for key, default in _DEFAULTS.items():
        text = _number(node.args[2].get(key, default), dims)
        parts += [f"{key}={text}"] if text != str(default) else []
    knob = ".layout(row_major)" if x.channels_last and x.contiguous else ""
    return f"{name}({', '.join(parts)}){knob}"


def _number(value: Any, dims: int) -> str:
    """One number where all dimensions have it, else one for each."""
    given = [value] * dims if isinstance(value, int) else list(value)
    given = given * dims if len(given) == 1 else given
    return str(given[0]) if len(set(given)) == 1 else f"({', '.join(map(str, given))})"


def result_value(x: Value, dtype: DType, shape: tuple[int, ...]) -> Value:
    """What the stage gives, but for the name: it lies as x does."""
    last = x.channels_last and not x.contiguous
    return views.channels_last("", dtype, shape) if last else views.fresh("", dtype, shape)


def bias_vector(value: Value, origin: Value, shape: tuple[int, ...]) -> str | None:
    """The vector's name where ``value``, reshaped from ``origin``, is a bias along the channels of ``shape``."""
    column = (shape[1], *(1,) * (len(shape) - 2))
    return origin.name if value.shape in (column, (1, *column)) and origin.shape == shape[1:2] else None
