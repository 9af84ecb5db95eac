"""Third pass: work along trailing dimensions becomes row nodes, which an own kernel does: reduce, softmax, norms.

A row node's operation is ``row.NAME``, with NAME of ``ROWS``. What stays as it is, for the library: other dimensions,
other element types, and few rows that are very long, since one row is worked on by one block of threads. Reductions
of few long f32 rows are done in two steps instead, where their length has a divisor to do so.
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
}
"""The stage of each row node, by the base of its operation."""

FEW_ROWS = 64
LONG_ROW = 2**16
"""Elements; fewer rows than ``FEW_ROWS`` that are longer than this are not given to one block each."""
PART = 4096
"""Elements that a row of the first of two steps has at most."""
LEAST_PART = 128

_EPS_F32 = 2.0**-23
"""What torch's rms_norm adds in f32 where a program does not say: the type's epsilon."""


def expand_rows(work: Work) -> None:
    """Rewrite reductions, softmax and norms over trailing dimensions, and the pattern of an rms_norm."""
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
    parts = [operand(arg).name for arg in node.args if is_ref(arg)]
    if name == "reduce":
        _, kind, dims, keepdim = node.args
        parts.append(kind)
        parts += [f"dims={dims}"] if dims != 1 else []
        parts += ["keepdim=true"] if keepdim else []
    elif name.endswith("_norm"):
        parts.append(f"eps={written(node.args[-1])}")
    return f"{name}({', '.join(parts)})"


def _computable(work: Work, node: Node) -> bool:
    """Whether all tensors have one float type, and the first has a dimension and elements."""
    tensors = [work.spec(arg) for arg in node.args if is_ref(arg)]
    if not tensors or not only_first(work, node):
        return False
    dtype = node.results[0].dtype
    plain = dtype in FLOATS and all(spec.dtype is dtype for spec in tensors)
    return plain and len(tensors[0].shape) > 0 and tensors[0].elements > 0


def _worth(rows: int, columns: int) -> bool:
    return rows >= FEW_ROWS or columns <= LONG_ROW


def _add(builder: Builder, node: Node, name: str, args: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    builder.add(f"row.{name}", args, node.results[0].dtype, shape, node.name)


def _trailing(dims: Any, rank: int) -> int | None:
    """How many trailing dimensions ``dims`` names; None for any others. Nothing named means all."""
    if dims is None or dims == []:
        return rank
    named = {dim % rank for dim in ([dims] if isinstance(dims, int) else dims)}
    return len(named) if named == set(range(rank - len(named), rank)) else None


def _reduction(kind: str) -> Callable[[Builder, Node], bool]:
    def rule(builder: Builder, node: Node) -> bool:
        given = dict(zip(("x", "dim", "keepdim", "dtype"), node.args, strict=False)) | node.kwargs
        if given.get("dtype") is not None or set(given) - {"x", "dim", "keepdim", "dtype"}:
            return False
        shape = builder.spec(given["x"]).shape
        dims = _trailing(given.get("dim"), len(shape))
        return dims is not None and _reduce(builder, node, given["x"], kind, dims, bool(given.get("keepdim")))

    return rule


def _reduce(builder: Builder, node: Node, source: dict[str, Any], kind: str, dims: int, keepdim: bool) -> bool:
    """``source`` reduced under the node's name; squares that are summed join the reduction."""
    shape = builder.spec(source).shape
    at = len(shape) - dims
    rows, columns = math.prod(shape[:at]), math.prod(shape[at:])
    squared = _squared(builder.work, source) if kind in ("sum", "mean") else None
    share = columns if squared is not None and kind == "mean" else 1
    if squared is not None:
        source, kind = squared, "sumsq"
    if not _worth(rows, columns):
        part = next((part for part in range(PART, LEAST_PART - 1, -1) if columns % part == 0), None)
        if part is None or node.results[0].dtype is not DType.F32:
            return False
        parts = builder.view(source, (*shape[:at], columns // part, part))
        partial = (*shape[:at], columns // part)
        source = builder.add("row.row_reduce", (parts, kind, 1, False), DType.F32, partial)
        kind = "sum" if kind == "sumsq" else kind
        # The last step sees one dimension where there were several.
        result = (*shape[:at], 1) if keepdim else shape[:at]
        dims = 1
    else:
        result = node.results[0].shape
    dtype, wanted = node.results[0].dtype, node.results[0].shape
    last = share == 1 and result == wanted
    made = builder.add("row.row_reduce", (source, kind, dims, keepdim), dtype, result, node.name if last else None)
    if share != 1:
        name = node.name if result == wanted else None
        made = builder.add("aten.mul.Tensor", (made, 1 / share), dtype, result, name)
    if result != wanted:
        builder.view(made, wanted, node.name)
    return True


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
    """The Euclidean norm: the root of the sum of squares."""
    given = dict(zip(("x", "ord", "dim", "keepdim", "dtype"), node.args, strict=False)) | node.kwargs
    if number(given.get("ord", 2)) != 2 or given.get("dtype") is not None or node.results[0].dtype is not DType.F32:
        return False
    shape = builder.spec(given["x"]).shape
    dims = _trailing(given.get("dim"), len(shape))
    rows = math.prod(shape[: len(shape) - (dims or 0)])
    if dims is None or not _worth(rows, math.prod(shape) // rows):
        return False
    args, result = (given["x"], "sumsq", dims, bool(given.get("keepdim"))), node.results[0]
    total = builder.add("row.row_reduce", args, result.dtype, result.shape)
    builder.add("aten.sqrt.default", (total,), result.dtype, result.shape, node.name)
    return True


def _extreme(kind: str) -> Callable[[Builder, Node], bool]:
    """``max`` and ``min``: of all elements, along a dimension, or of two tensors, which is no reduction."""

    def rule(builder: Builder, node: Node) -> bool:
        return sum(is_ref(arg) for arg in node.args) == 1 and _reduction(kind)(builder, node)

    return rule


def _softmax(name: str) -> Callable[[Builder, Node], bool]:
    def rule(builder: Builder, node: Node) -> bool:
        source, dim, *rest = node.args
        shape = builder.spec(source).shape
        plain = all(value in (None, False) for value in (*rest, *node.kwargs.values()))
        if not plain or dim % len(shape) != len(shape) - 1 or not _worth(math.prod(shape[:-1]), shape[-1]):
            return False
        _add(builder, node, name, (source,), shape)
        return True

    return rule


def _filled(args: tuple[Any, ...], defaults: tuple[Any, ...]) -> tuple[Any, ...]:
    """A norm's arguments with those left out behind the first two."""
    return args + defaults[len(args) - 2 :]


def _layer_norm(builder: Builder, node: Node) -> bool:
    source, extents, weight, bias, eps = _filled(node.args[:5], (None, None, 1e-5))
    return _norm(builder, node, "row_layer_norm", source, len(extents), (weight, bias), eps)


def _rms_norm(builder: Builder, node: Node) -> bool:
    source, extents, weight, eps = _filled(node.args[:4], (None, None))
    if eps is None and node.results[0].dtype is DType.F32:
        eps = _EPS_F32
    return _norm(builder, node, "row_rms_norm", source, len(extents), (weight,), eps)


def _norm(
    builder: Builder, node: Node, name: str, source: Any, dims: int, vectors: tuple[Any, ...], eps: Any
) -> bool:
    """A norm over the last ``dims`` dimensions, as one over rows; the result gets its shape back."""
    shape = builder.spec(source).shape
    at = len(shape) - dims
    columns = math.prod(shape[at:])
    missing = vectors[:1] == (None,) and any(vector is not None for vector in vectors)
    if node.kwargs or number(eps) is None or missing or not _worth(math.prod(shape[:at]), columns):
        return False
    given = [builder.view(vector, (columns,)) for vector in vectors if vector is not None]
    rows = builder.view(source, (*shape[:at], columns))
    wanted = builder.spec(rows).shape
    if wanted == shape:
        _add(builder, node, name, (rows, *given, eps), shape)
    else:
        made = builder.add(f"row.{name}", (rows, *given, eps), node.results[0].dtype, wanted)
        builder.view(made, shape, node.name)
    return True


def _rms_pattern(builder: Builder, node: Node) -> bool:
    """``x * rsqrt(mean(x²) + eps)`` and ``x / sqrt(mean(x²) + eps)``, the mean over the last dimension."""
    if len(node.args) != 2 or node.kwargs or not all(is_ref(arg) for arg in node.args):
        return False
    root = "rsqrt" if base(node.op) == "mul" else "sqrt"
    pairs = (node.args, node.args[::-1]) if root == "rsqrt" else (node.args,)
    for source, scale in pairs:
        eps = _eps_of(builder.work, root, source, scale)
        if eps is not None and builder.spec(source).shape == node.results[0].shape:
            shape = builder.spec(source).shape
            if _worth(math.prod(shape[:-1]), shape[-1]):
                _add(builder, node, "row_rms_norm", (source, eps), shape)
                return True
    return False


def _eps_of(work: Work, root: str, source: dict[str, Any], scale: dict[str, Any]) -> float | int | None:
    """The eps of ``scale``, where it is the root of mean(source²) + eps and nothing else reads its parts."""
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
    rank = len(work.spec(source).shape)
    dims, keepdim = (*mean.args[1:], None, None)[:2]
    if dims is None or dims == [] or _trailing(dims, rank) != 1 or keepdim is not True:
        return None
    eps = number(added.args[1])
    return eps if eps is not None and 0 <= eps < math.inf else None


_RULES: dict[str, Callable[[Builder, Node], bool]] = {
    "sum": _reduction("sum"),
    "mean": _reduction("mean"),
    "amax": _reduction("max"),
    "amin": _reduction("min"),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "prod": _reduction("prod"),
    "logsumexp": _reduction("logsumexp"),
    "linalg_vector_norm": _vector_norm,
    "softmax": _softmax("row_softmax"),
    "_softmax": _softmax("row_softmax"),
    "log_softmax": _softmax("row_log_softmax"),
    "_log_softmax": _softmax("row_log_softmax"),
    "layer_norm": _layer_norm,
    "native_layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "mul": _rms_pattern,
    "div": _rms_pattern,
}
