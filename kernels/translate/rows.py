"""Third pass: work along dimensions becomes row nodes, which an own kernel does: reduce, softmax, norms.

A row node's operation is ``row.NAME``, with NAME of ``ROWS``. What stays as it is, for the library: other element
types, and results that only torch gives (the places beside a maximum, a norm's statistics). Batch norm by running
statistics becomes elementwise nodes.
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

ROWS = {
    "row_reduce": "reduce",
    "row_softmax": "softmax",
    "row_log_softmax": "log_softmax",
    "row_layer_norm": "layer_norm",
    "row_rms_norm": "rms_norm",
    "row_group_norm": "group_norm",
    "row_instance_norm": "instance_norm",
    "row_batch_norm": "batch_norm",
}
"""The stage of each row node, by the base of its operation."""

Axes = tuple[int, ...]

_EPS_F32 = 2.0**-23
"""What torch's rms_norm adds in f32 where a program does not say: the type's epsilon."""


def expand_rows(work: Work) -> None:
    """Rewrite reductions, softmax and norms, the pattern of an rms_norm, and batch norm by given statistics."""
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
    work.drop_unused()


def is_rows(node: Node) -> bool:
    """Whether a node is one of the row nodes that this pass made."""
    return base(node.op) in ROWS


def call_text(node: Node, operand: Callable[[dict[str, Any]], Value]) -> str:
    """The stage's call; ``operand`` gives the row-major value of a reference."""
    name = ROWS[base(node.op)]
    values = [operand(arg) for arg in node.args if is_ref(arg)]
    parts = [value.name for value in values]
    rank = len(values[0].shape)
    if name == "reduce":
        _, kind, axes, keepdim = node.args
        parts += [kind, *_along(axes, rank, "dims")]
        parts += ["keepdim=true"] if keepdim else []
    elif name in ("softmax", "log_softmax"):
        parts += _along(node.args[1], rank, "dim")
    elif name in ("layer_norm", "rms_norm"):
        parts += [*_along(node.args[-2], rank, "dims"), f"eps={written(node.args[-1])}"]
    else:
        groups = [str(node.args[1])] if name == "group_norm" else []
        parts = [parts[0], *groups, *parts[1:], f"eps={written(node.args[-1])}"]
    return f"{name}({', '.join(parts)})"


def _along(axes: Axes, rank: int, trailing: str) -> list[str]:
    """What says that a stage works along ``axes``: nothing for the last one, ``dims=2`` for the last two."""
    if axes == (rank - 1,):
        return []
    if axes == tuple(range(rank - len(axes), rank)) and trailing == "dims":
        return [f"dims={len(axes)}"]
    return [f"dim={axes[0]}" if len(axes) == 1 else f"dim=({', '.join(map(str, axes))})"]


def _computable(work: Work, node: Node) -> bool:
    """Whether all tensors have one float type, and the first has a dimension and elements."""
    tensors = [work.spec(arg) for arg in node.args if is_ref(arg)]
    if not tensors or not only_first(work, node):
        return False
    dtype = tensors[0].dtype
    results = {dtype, DType.I64} if base(node.op) in ("argmax", "argmin") else {dtype}
    plain = dtype in FLOATS and all(spec.dtype is dtype for spec in tensors) and node.results[0].dtype in results
    return plain and len(tensors[0].shape) > 0 and tensors[0].elements > 0


def _add(builder: Builder, node: Node, name: str, args: tuple[Any, ...]) -> bool:
    """The row node that takes the place of ``node``."""
    builder.add(f"row.{name}", args, node.results[0].dtype, node.results[0].shape, node.name)
    return True


def _axes(dims: Any, rank: int) -> Axes:
    """The dimensions that ``dims`` names, ascending; all where nothing is named."""
    if dims is None or dims == []:
        return tuple(range(rank))
    return tuple(sorted({dim % rank for dim in ([dims] if isinstance(dims, int) else dims)}))


def _given(node: Node, *names: str) -> dict[str, Any] | None:
    """The arguments by name, those left out missing; None where one is given that ``names`` lack."""
    given = dict(zip(names, node.args, strict=False)) | node.kwargs
    return given if len(node.args) <= len(names) and set(given) <= set(names) else None


def _reduction(kind: str) -> Callable[[Builder, Node], bool]:
    def rule(builder: Builder, node: Node) -> bool:
        given = _given(node, "x", "dim", "keepdim", "dtype")
        if given is None or given.get("dtype") is not None:
            return False
        axes = _axes(given.get("dim"), len(builder.spec(given["x"]).shape))
        return _reduce(builder, node, given["x"], kind, axes, bool(given.get("keepdim")))

    return rule


def _reduce(
    builder: Builder, node: Node, source: dict[str, Any], kind: str, axes: Axes, keepdim: bool, factor: float = 1
) -> bool:
    """``source`` reduced under the node's name, times ``factor``; what is squared or made positive in front of a sum
    joins it."""
    result = node.results[0]
    if kind in ("sum", "mean"):
        joined, other = _squared(builder.work, source), "sumsq"
        if joined is None:
            joined, other = _magnitude(builder.work, source), "norm1"
        if joined is not None:
            shape = builder.spec(source).shape
            factor = factor / math.prod(shape[axis] for axis in axes) if kind == "mean" else factor
            source, kind = joined, other
    args = (source, kind, axes, keepdim)
    if factor == 1:
        return _add(builder, node, "row_reduce", args)
    made = builder.add("row.row_reduce", args, result.dtype, result.shape)
    builder.add("aten.mul.Tensor", (made, factor), result.dtype, result.shape, node.name)
    return True


def _spread(kind: str) -> Callable[[Builder, Node], bool]:
    """``var`` and ``std``: by n - 1, or by another number, which is a factor."""

    def rule(builder: Builder, node: Node) -> bool:
        given = _given(node, "x", "dim", "correction", "keepdim")
        if given is None or node.op.split(".")[-1] not in ("correction", "default", "dim"):
            return False
        shape = builder.spec(given["x"]).shape
        if node.op.endswith(".default"):
            given = {"x": given["x"], "correction": int(node.args[1]) if len(node.args) > 1 else 1}
        axes = _axes(given.get("dim"), len(shape))
        count, correction = math.prod(shape[axis] for axis in axes), given.get("correction")
        correction = (
            1 if correction is None else number(int(correction) if isinstance(correction, bool) else correction)
        )
        if correction is None or count < 2 or count - correction <= 0:
            return False
        factor = (count - 1) / (count - correction)
        factor = factor if kind == "var" else math.sqrt(factor)
        return _reduce(builder, node, given["x"], kind, axes, bool(given.get("keepdim")), factor)

    return rule


def _place(kind: str) -> Callable[[Builder, Node], bool]:
    def rule(builder: Builder, node: Node) -> bool:
        given = _given(node, "x", "dim", "keepdim")
        if given is None:
            return False
        axes = _axes(given.get("dim"), len(builder.spec(given["x"]).shape))
        return _add(builder, node, "row_reduce", (given["x"], kind, axes, bool(given.get("keepdim"))))

    return rule


def _magnitude(work: Work, source: dict[str, Any]) -> dict[str, Any] | None:
    """What ``source`` is the magnitude of, where nothing else reads that."""
    node = work.producer(source)
    alone = node is not None and len(work.users[node.name]) == 1 and node.name not in work.returned
    return node.args[0] if node is not None and alone and base(node.op) == "abs" else None


def _squared(work: Work, source: dict[str, Any]) -> dict[str, Any] | None:
    """What ``source`` is the square of, where nothing else reads the square."""
    node = work.producer(source)
    if node is None or len(work.users[node.name]) != 1 or node.name in work.returned or node.kwargs:
        return None
    name, args = base(node.op), node.args
    if not args or not is_ref(args[0]) or work.spec(args[0]).dtype is not node.results[0].dtype:
        return None
    square = (
        (name == "square" and len(args) == 1)
        or (name == "pow" and len(args) == 2 and number(args[1]) == 2)
        or (name == "mul" and len(args) == 2 and args[1] == args[0])
    )
    return args[0] if square else None


def _vector_norm(builder: Builder, node: Node) -> bool:
    """The Euclidean norm, and the sum of magnitudes."""
    given = _given(node, "x", "ord", "dim", "keepdim", "dtype")
    if given is None or given.get("dtype") is not None:
        return False
    kind = {2: "norm2", 1: "norm1"}.get(int(order) if (order := number(given.get("ord", 2))) in (1, 2) else 0)
    axes = _axes(given.get("dim"), len(builder.spec(given["x"]).shape))
    args = (given["x"], kind, axes, bool(given.get("keepdim")))
    return kind is not None and _add(builder, node, "row_reduce", args)


def _extreme(kind: str) -> Callable[[Builder, Node], bool]:
    """``max`` and ``min``: of all elements, along a dimension, or of two tensors, which is no reduction."""

    def rule(builder: Builder, node: Node) -> bool:
        return sum(is_ref(arg) for arg in node.args) == 1 and _reduction(kind)(builder, node)

    return rule


def _softmax(name: str) -> Callable[[Builder, Node], bool]:
    def rule(builder: Builder, node: Node) -> bool:
        source, dim, *rest = node.args
        plain = all(value in (None, False) for value in (*rest, *node.kwargs.values()))
        axes = _axes(dim, len(builder.spec(source).shape))
        return plain and _add(builder, node, name, (source, axes))

    return rule


def _filled(args: tuple[Any, ...], defaults: tuple[Any, ...]) -> tuple[Any, ...]:
    """A norm's arguments with those left out behind the first two."""
    return args + defaults[len(args) - 2 :]


def _layer_norm(builder: Builder, node: Node) -> bool:
    source, extents, weight, bias, eps = _filled(node.args[:5], (None, None, 1e-5))
    axes = _last(builder, source, len(extents))
    return _norm(builder, node, "row_layer_norm", source, (weight, bias), (axes, eps))


def _rms_norm(builder: Builder, node: Node) -> bool:
    source, extents, weight, eps = _filled(node.args[:4], (None, None))
    if eps is None and node.results[0].dtype is DType.F32:
        eps = _EPS_F32
    axes = _last(builder, source, len(extents))
    return _norm(builder, node, "row_rms_norm", source, (weight,), (axes, eps))


def _last(builder: Builder, source: dict[str, Any], count: int) -> Axes:
    rank = len(builder.spec(source).shape)
    return tuple(range(rank - count, rank))


def _group_norm(builder: Builder, node: Node) -> bool:
    source, groups, weight, bias, eps = _filled(node.args[:5], (None, None, 1e-5))
    return _norm(builder, node, "row_group_norm", source, (weight, bias), (eps,), (groups,))


def _native_group_norm(builder: Builder, node: Node) -> bool:
    source, weight, bias, _, _, _, groups, eps = node.args[:8]
    return _norm(builder, node, "row_group_norm", source, (weight, bias), (eps,), (groups,))


def _instance_norm(builder: Builder, node: Node) -> bool:
    source, weight, bias, mean, variance, of_input, _, eps = node.args[:8]
    if not of_input:
        return _normalised(builder, node, source, mean, variance, (weight, bias), eps)
    if len(builder.spec(source).shape) < 3:
        return False
    return _norm(builder, node, "row_instance_norm", source, (weight, bias), (eps,))


def _batch_norm(builder: Builder, node: Node) -> bool:
    """In training the running statistics are only written, never read; else they are all that is read."""
    source, weight, bias, mean, variance, training, _, eps = node.args[:8]
    if not training:
        return _normalised(builder, node, source, mean, variance, (weight, bias), eps)
    return _norm(builder, node, "row_batch_norm", source, (weight, bias), (eps,))


def _batch_norm_eval(builder: Builder, node: Node) -> bool:
    source, weight, bias, mean, variance, _, eps = node.args[:7]
    return _normalised(builder, node, source, mean, variance, (weight, bias), eps)


def _batch_norm_no_stats(builder: Builder, node: Node) -> bool:
    source, weight, bias, training, _, eps = node.args[:6]
    return bool(training) and _norm(builder, node, "row_batch_norm", source, (weight, bias), (eps,))


def _norm(
    builder: Builder, node: Node, name: str, source: Any, vectors: tuple[Any, ...], tail: tuple[Any, ...],
    groups: tuple[int, ...] = (),
) -> bool:  # fmt: skip
    """A norm with the weight and bias that are there; ``tail`` ends in eps."""
    missing = vectors[:1] == (None,) and any(vector is not None for vector in vectors)
    if node.kwargs or number(tail[-1]) is None or missing:
        return False
    given = [vector for vector in vectors if vector is not None]
    return _add(builder, node, name, (source, *groups, *given, *tail))


def _normalised(
    builder: Builder, node: Node, source: Any, mean: Any, variance: Any, vectors: tuple[Any, ...], eps: Any
) -> bool:
    """By given statistics of each channel: elementwise nodes, which join what is around them."""
    dtype, shape = node.results[0].dtype, node.results[0].shape
    if node.kwargs or number(eps) is None or mean is None or variance is None or len(shape) < 2:
        return False
    channels = (shape[1], *[1] * (len(shape) - 2))
    shown = [None if vector is None else builder.view(vector, channels) for vector in (mean, variance, *vectors)]
    widened = builder.add("aten.add.Tensor", (shown[1], eps), dtype, channels)
    scale = builder.add("aten.rsqrt.default", (widened,), dtype, channels)
    steps = [("sub", shown[0]), ("mul", scale), ("mul", shown[2]), ("add", shown[3])]
    steps = [step for step in steps if step[1] is not None]
    made = source
    for position, (operation, operand) in enumerate(steps, start=1):
        name = node.name if position == len(steps) else None
        made = builder.add(f"aten.{operation}.Tensor", (made, operand), dtype, shape, name)
    return True


def _rms_pattern(builder: Builder, node: Node) -> bool:
    """``x * rsqrt(mean(x²) + eps)`` and ``x / sqrt(mean(x²) + eps)``, the mean over any dimensions."""
    if len(node.args) != 2 or node.kwargs or not all(is_ref(arg) for arg in node.args):
        return False
    root = "rsqrt" if base(node.op) == "mul" else "sqrt"
    pairs = (node.args, node.args[::-1]) if root == "rsqrt" else (node.args,)
    for source, scale in pairs:
        found = _mean_square(builder.work, root, source, scale)
        if found is not None and builder.spec(source).shape == node.results[0].shape:
            return _add(builder, node, "row_rms_norm", (source, *found))
    return False


def _mean_square(work: Work, root: str, source: dict[str, Any], scale: dict[str, Any]) -> tuple[Axes, float] | None:
    """The dimensions and eps of ``scale``, where it is the root of mean(source²) + eps and nothing else reads its
    parts."""
    parts: list[Node] = []
    at: Any = scale
    for names in ({root}, {"add"}, {"mean"}):
        part = work.producer(at)
        if part is None or base(part.op) not in names or len(work.users[part.name]) != 1:
            return None
        if part.name in work.returned:
            return None
        parts.append(part)
        at = part.args[0]
    _, added, mean = parts
    if _squared(work, mean.args[0]) != source or added.kwargs or len(added.args) != 2 or mean.kwargs:
        return None
    dims, keepdim = (*mean.args[1:], None, None)[:2]
    eps = number(added.args[1])
    if dims is None or dims == [] or keepdim is not True or eps is None or not 0 <= eps < math.inf:
        return None
    return _axes(dims, len(work.spec(source).shape)), eps


_RULES: dict[str, Callable[[Builder, Node], bool]] = {
    "sum": _reduction("sum"),
    "mean": _reduction("mean"),
    "amax": _reduction("max"),
    "amin": _reduction("min"),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "prod": _reduction("prod"),
    "logsumexp": _reduction("logsumexp"),
    "argmax": _place("argmax"),
    "argmin": _place("argmin"),
    "var": _spread("var"),
    "std": _spread("std"),
    "linalg_vector_norm": _vector_norm,
    "softmax": _softmax("row_softmax"),
    "_softmax": _softmax("row_softmax"),
    "log_softmax": _softmax("row_log_softmax"),
    "_log_softmax": _softmax("row_log_softmax"),
    "layer_norm": _layer_norm,
    "native_layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "native_group_norm": _native_group_norm,
    "instance_norm": _instance_norm,
    "native_batch_norm": _batch_norm,
    "_native_batch_norm_legit_functional": _batch_norm,
    "_native_batch_norm_legit_no_training": _batch_norm_eval,
    "_native_batch_norm_legit": _batch_norm_no_stats,
    "mul": _rms_pattern,
    "div": _rms_pattern,
}
