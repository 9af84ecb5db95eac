"""Pooling and constant borders become nodes that own kernels do; pools over everything become reductions.

The nodes are ``pool.pool_window`` (source, stage, kernel, stride, padding, dilation, ceil_mode, count_include_pad) and
``pool.pool_border`` (source, padding, value). What stays as it is, for the library: other element types, indices that
something reads, divisors of one's own, adaptive windows of several sizes, and borders that take elements away. It runs
before ``rows``, which takes the reductions; a nearest upsampling by whole factors becomes views and their copy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kernels.dsl.ir import Value
from kernels.dtypes import DType
from kernels.problems.inspection import Node
from kernels.translate.expressions import written
from kernels.translate.work import FLOATS, Builder, Work, base, is_ref, number, only_first

Extents = tuple[int, ...]

_BORDERED = frozenset(DType) - {DType.F8E4M3, DType.F8E5M2}
"""Element types that a border can be put around."""
_MEANS = {"max": "aten.amax.default", "avg": "aten.mean.dim"}


def expand_pools(work: Work) -> None:
    """Rewrite pools, constant borders and nearest upsampling."""
    nodes: list[Node] = []
    taken: set[str] = set()
    for node in work.nodes:
        rule = _RULES.get(base(node.op))
        builder = Builder(work, taken)
        if rule is not None and node.args and is_ref(node.args[0]) and not node.kwargs and rule(builder, node):
            nodes += builder.nodes
        else:
            nodes.append(node)
    work.set_nodes(nodes)
    work.drop_unused()


def is_pool(node: Node) -> bool:
    """Whether a node is one of the pools that this pass made."""
    return node.op == "pool.pool_window"


def is_border(node: Node) -> bool:
    """Whether a node is one of the borders that this pass made."""
    return node.op == "pool.pool_border"


def pool_text(node: Node, source: Value) -> str:
    """The call of a pool's stage, with what differs from the defaults."""
    _, stage, kernel, stride, padding, dilation, ceil_mode, counts = node.args
    parts = [source.name, _numbers(kernel)]
    parts += [f"stride={_numbers(stride)}"] if stride != kernel else []
    parts += [f"padding={_numbers(padding)}"] if any(padding) else []
    parts += [f"dilation={_numbers(dilation)}"] if set(dilation) != {1} else []
    parts += ["ceil_mode=true"] if ceil_mode else []
    parts += ["count_include_pad=false"] if not counts and any(padding) else []
    return f"{stage}({', '.join(parts)})"


def border_text(node: Node, source: Value) -> str:
    """The call of a border's stage."""
    _, padding, value = node.args
    more = f", value={written(value)}" if value else ""
    return f"pad({source.name}, ({', '.join(map(str, padding))}){more})"


def _numbers(values: Extents) -> str:
    return str(values[0]) if len(set(values)) == 1 else f"({', '.join(map(str, values))})"


# Pools.


def _pool(kind: str, dims: int) -> Callable[[Builder, Node], bool]:
    def rule(builder: Builder, node: Node) -> bool:
        kernel = _filled(node.args[1], dims)
        given: dict[str, Any] = dict(zip(("stride", "padding", *_ARGUMENTS[kind]), node.args[2:], strict=False))
        if given.get("divisor_override") is not None:
            return False
        window = (
            kernel,
            _filled(given.get("stride") or list(kernel), dims),
            _filled(given.get("padding", 0), dims),
            _filled(given.get("dilation", 1), dims),
            bool(given.get("ceil_mode", False)),
            kind == "max" or bool(given.get("count_include_pad", True)),
        )
        return _windows(builder, node, kind, window)

    return rule


_ARGUMENTS = {
    "max": ("dilation", "ceil_mode"),
    "avg": ("ceil_mode", "count_include_pad", "divisor_override"),
}
"""By kind, in ATen's order, behind the stride and the padding that both have."""


def _filled(given: Any, dims: int) -> Extents:
    """One number for all dimensions, or one for each."""
    values = tuple(given) if isinstance(given, list | tuple) else (given,)
    return values if len(values) == dims else values * dims


def _windows(builder: Builder, node: Node, kind: str, window: tuple[Any, ...]) -> bool:
    source, result = builder.spec(node.args[0]), node.results[0]
    kernel, dims = window[0], len(window[0])
    if result.dtype not in FLOATS or source.dtype is not result.dtype or not source.elements:
        return False
    if not only_first(builder.work, node) or not result.elements:
        return False
    if kernel == source.shape[-dims:] and not any(window[2]):
        return _reduction(builder, node, kind, dims)
    batched = source.shape if len(source.shape) == dims + 2 else (1, *source.shape)
    shape = (*batched[:2], *result.shape[-dims:])
    given = builder.view(node.args[0], batched)
    name = node.name if shape == result.shape else None
    made = builder.add("pool.pool_window", (given, f"{kind}_pool{dims}d", *window), result.dtype, shape, name)
    if name is None:
        builder.view(made, result.shape, node.name)
    return True


def _reduction(builder: Builder, node: Node, kind: str, dims: int) -> bool:
    """A pool whose only window is the whole: the largest element or the mean over the last ``dims`` dimensions."""
    along = list(range(-dims, 0))
    builder.add(_MEANS[kind], (node.args[0], along, True), node.results[0].dtype, node.results[0].shape, node.name)
    return True


def _adaptive(kind: str, dims: int) -> Callable[[Builder, Node], bool]:
    def rule(builder: Builder, node: Node) -> bool:
        source, result = builder.spec(node.args[0]).shape[-dims:], node.results[0].shape[-dims:]
        if any(extent % count for extent, count in zip(source, result, strict=True)):
            return False
        kernel = tuple(extent // count for extent, count in zip(source, result, strict=True))
        return _windows(builder, node, kind, (kernel, kernel, (0,) * dims, (1,) * dims, False, True))

    return rule


# Borders and upsampling.


def _border(builder: Builder, node: Node) -> bool:
    source, padding, *rest = node.args
    value = number(rest[0]) if rest else 0
    spec, result = builder.spec(source), node.results[0]
    if value is None or math.isnan(value) or any(count < 0 for count in padding) or not any(padding):
        return False
    if spec.dtype not in _BORDERED or not spec.elements or (not spec.dtype.is_float and value != int(value)):
        return False
    builder.add("pool.pool_border", (source, tuple(padding), value), result.dtype, result.shape, node.name)
    return True


def _nearest(builder: Builder, node: Node) -> bool:
    """Every element ``factor`` times along each spatial dimension."""
    source, result = builder.spec(node.args[0]), node.results[0]
    spatial = list(zip(source.shape[2:], result.shape[2:], strict=True))
    if not source.elements or any(out % extent for extent, out in spatial):
        return False
    factors = [out // extent for extent, out in spatial]
    scales = [
        arg for arg in node.args[1:] if arg is not None and any(isinstance(item, float) for item in _listed(arg))
    ]
    if any(_listed(scale) != factors for scale in scales):
        return False
    apart = [part for extent, _ in spatial for part in (extent, 1)]
    spread = [part for (extent, _), factor in zip(spatial, factors, strict=True) for part in (extent, factor)]
    lead = source.shape[:2]
    made = builder.view(node.args[0], (*lead, *apart))
    shape = (*lead, *spread)
    made = builder.add("aten.expand.default", (made, list(shape)), result.dtype, shape)
    builder.add("aten.reshape.default", (made, list(result.shape)), result.dtype, result.shape, node.name)
    return True


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


_RULES: dict[str, Callable[[Builder, Node], bool]] = {
    **{f"{kind}_pool{dims}d": _pool(kind, dims) for kind in ("max", "avg") for dims in (1, 2, 3)},
    **{f"max_pool{dims}d_with_indices": _pool("max", dims) for dims in (2, 3)},
    **{f"adaptive_{kind}_pool{dims}d": _adaptive(kind, dims) for kind in ("max", "avg") for dims in (1, 2, 3)},
    **{f"_adaptive_avg_pool{dims}d": _adaptive("avg", dims) for dims in (2, 3)},
    **{f"upsample_nearest{dims}d": _nearest for dims in (1, 2, 3)},
    "constant_pad_nd": _border,
}
