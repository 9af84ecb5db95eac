"""The row stages: reduce, softmax and the norms, each along any dimensions of a dense tensor.

It reads their arguments and decides the dimensions, rows, columns and the result; chains and knobs are ``stages``'
business, element types ``layouts``'. Tensors that are neither row-major nor channels-last are to be copied first.
In place of the tensor an expression may stand, as in map; the rows are then those of one of its tensors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernels.dsl.arguments import truth
from kernels.dsl.errors import ArgumentError, Layout, ShapeMismatch
from kernels.dsl.expressions import common_shape, computing_type, expression, loads, widen
from kernels.dsl.ir import ChainStep, Value
from kernels.dsl.ops import OPS
from kernels.dsl.printer import format_value
from kernels.dsl.resolve import among, integer, names_tensor, number, tensor
from kernels.dsl.scope import Scope
from kernels.dsl.syntax import Argument, Assign, Binary, Call, Name, Sequence, Unary
from kernels.dsl.views import channels_last, fresh
from kernels.dtypes import DType

PLACES = ("argmax", "argmin")
"""Reductions to the place (i64) of an element among those reduced, the first of equal ones."""
REDUCTIONS = (
    *("sum", "mean", "max", "min", "prod", "logsumexp", "sumsq", "norm1", "norm2", "var", "std"),
    *PLACES,
)
"""What ``reduce`` does with a row; ``sumsq`` is the sum of squares, ``norm2`` its root, ``var`` divides by n - 1."""
EPS = 1e-5
"""Added to the variance (to the mean square in rms_norm) where a program does not say."""
BY_CHANNEL = ("group_norm", "instance_norm", "batch_norm")
"""Norms of [N, C, ...] whose weight and bias have an element for each of the C channels."""

_AFFINE = ("weight", "bias")
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "reduce": ("x", "kind"),
    "softmax": ("x",),
    "log_softmax": ("x",),
    "layer_norm": ("x", *_AFFINE),
    "rms_norm": ("x", "weight"),
    "group_norm": ("x", "groups", *_AFFINE),
    "instance_norm": ("x", *_AFFINE),
    "batch_norm": ("x", *_AFFINE),
}
_NAMED_ONLY: dict[str, tuple[str, ...]] = {
    "reduce": ("dim", "dims", "keepdim"),
    "softmax": ("dim",),
    "log_softmax": ("dim",),
    "layer_norm": ("dims", "eps"),
    "rms_norm": ("dim", "dims", "eps"),
    **dict.fromkeys(BY_CHANNEL, ("eps",)),
}
_REQUIRED = {"reduce": 2, "group_norm": 2}


@dataclass(frozen=True, slots=True)
class RowWork:
    """What a row stage reads and gives, and its attributes in ``ir.Stage``."""

    operands: tuple[Value, ...]
    result: Value
    attributes: dict[str, Any]


def row_work(stage: Assign, scope: Scope) -> RowWork:
    """The work of a stage whose ``op`` is one of the row stages; fails with the error noted."""
    given = _given(stage, scope)
    prologue, x = _operand(stage, given["x"], scope)
    work = _work(stage, x, given, scope)
    others = () if prologue is None else tuple(value for value in loads(prologue.expr) if value.name != x.name)
    return RowWork((*work.operands, *others), work.result, work.attributes | {"prologue": prologue})


def _work(stage: Assign, x: Value, given: dict[str, Argument], scope: Scope) -> RowWork:
    """The work on rows of x, whatever they are computed from."""
    axes = _axes(stage, x, given, scope)
    if stage.op == "reduce":
        return _reduction(stage, x, axes, given, scope)
    groups = _groups(stage, x, given["groups"], scope) if stage.op == "group_norm" else 0
    affine = (1,) if stage.op in BY_CHANNEL else axes
    vectors = tuple(_vector(stage, name, given[name], x, affine, scope) for name in _AFFINE if name in given)
    if "bias" in given and "weight" not in given:
        what, mend = f"{stage.op} with a bias and no weight", "give the weight too, or add the bias: >> add(t)"
        raise scope.fail(ArgumentError(given["bias"].span, what=what, mend=mend))
    norm = stage.op.endswith("_norm")
    columns = math.prod(x.shape[axis] for axis in axes) // max(1, groups)
    attributes = {
        "kind": stage.op, "axes": axes, "groups": groups, "rows": x.elements // columns, "columns": columns,
        "eps": _eps(given.get("eps"), scope) if norm else None, "affine": affine if norm else (),
        "weight": len(vectors) > 0, "bias": len(vectors) > 1,
    }  # fmt: skip
    made = fresh if x.contiguous else channels_last
    return RowWork((x, *vectors), made(stage.target, x.dtype, x.shape), attributes)


def _given(stage: Assign, scope: Scope) -> dict[str, Argument]:
    """The arguments by name."""
    names, named_only = _PARAMETERS[stage.op], _NAMED_ONLY.get(stage.op, ())
    usage = f"write {OPS[stage.op].usage}"
    if len(stage.args) > len(names):
        what = f"{stage.op} takes {len(names)} argument(s) by position and got {len(stage.args)}"
        raise scope.fail(ArgumentError(stage.args[len(names)].span, what=what, mend=usage))
    given = dict(zip(names, stage.args, strict=False))
    for keyword in stage.kwargs:
        if keyword.name not in (*names, *named_only):
            what = f"{stage.op} has no argument {keyword.name!r}"
            raise scope.fail(ArgumentError(keyword.span, what=what, mend=usage))
        if keyword.name in given:
            what = f"{stage.op} got {keyword.name!r} twice"
            raise scope.fail(ArgumentError(keyword.span, what=what, mend="keep one of them"))
        given[keyword.name] = keyword.value
    for name in names[: _REQUIRED.get(stage.op, 1)]:
        if name not in given:
            raise scope.fail(ArgumentError(stage.span, what=f"{stage.op} needs {name!r}", mend=usage))
    if "dim" in given and "dims" in given:
        what = f"{stage.op} got dim, which names dimensions, and dims, which counts the last ones"
        raise scope.fail(ArgumentError(given["dims"].span, what=what, mend="keep one of them"))
    return given


def _operand(stage: Assign, node: Argument, scope: Scope) -> tuple[ChainStep | None, Value]:
    """What the elements of the rows are computed from, if anything, and the tensor that says how they lie."""
    if not isinstance(node, Unary | Binary) and not (isinstance(node, Call) and not names_tensor(node, scope)):
        return None, _rows_of(stage, node, tensor(node, scope), scope)
    raw = expression(node, scope, acc=False)
    sources = loads(raw)
    if not sources:
        what = f"{stage.op} of an expression without a tensor"
        raise scope.fail(ArgumentError(node.span, what=what, mend="use at least one tensor"))
    shape = common_shape(sources, node.span, scope)
    prologue = ChainStep(format_value(node), widen(raw, shape, node.span, scope), node.span)
    dtype = computing_type(sources, (prologue,))
    for value in sources:
        if value.shape == shape and value.dtype is dtype and (value.contiguous or value.channels_last):
            return prologue, _rows_of(stage, node, value, scope)
    what = f"no tensor of the expression is a dense {dtype}{list(shape)}, which the rows of {stage.op} would follow"
    mend = f"compute it first: e = map({format_value(node)})"
    raise scope.fail(Layout(node.span, found=list(shape), what=what, mend=mend))


def _rows_of(stage: Assign, node: Argument, x: Value, scope: Scope) -> Value:
    """x, the operand whose rows are worked on, if it can be."""
    least = {"instance_norm": 3}.get(stage.op, 2 if stage.op in BY_CHANNEL else 1)
    if len(x.shape) < least:
        form = "[N, C, ...]" if stage.op in BY_CHANNEL else "a tensor with a dimension"
        what = f"{stage.op} works on {form} and needs {least}, and {x.name} has {len(x.shape)}"
        mend = "use reshape or unsqueeze" if x.shape else "use map for a single element"
        raise scope.fail(ShapeMismatch(node.span, found=list(x.shape), what=what, mend=mend))
    if not x.contiguous and not x.channels_last:
        what = f"{stage.op} reads rows, and the elements of {x.name} lie neither row-major nor channels-last"
        mend = f"copy it first: c = map({x.name})"
        raise scope.fail(Layout(node.span, found=list(x.strides), what=what, mend=mend))
    return x


def _axes(stage: Assign, x: Value, given: dict[str, Argument], scope: Scope) -> tuple[int, ...]:
    """The dimensions worked along, ascending; a group_norm's dimension 1 is cut into groups."""
    rank = len(x.shape)
    if stage.op in BY_CHANNEL:
        first = {"group_norm": (1,), "instance_norm": (), "batch_norm": (0,)}[stage.op]
        return (*first, *range(2, rank))
    if "dim" not in given:
        return tuple(range(rank - _dims(given.get("dims"), x, scope), rank))
    node = given["dim"]
    items = node.items if isinstance(node, Sequence) else (node,)
    named = [integer(item, scope) for item in items]
    for item, dim in zip(items, named, strict=True):
        if not -rank <= dim < rank:
            what = f"dim is {dim}, and {x.name} has {rank} dimension(s)"
            mend = f"its dimensions are 0 to {rank - 1} (or -{rank} to -1)"
            raise scope.fail(ArgumentError(item.span, found=dim, what=what, mend=mend))
    axes = tuple(sorted({dim % rank for dim in named}))
    if len(axes) != len(named) or not axes:
        what = f"dim is {format_value(node)}"
        raise scope.fail(ArgumentError(node.span, what=what, mend="name one dimension or several, each once"))
    return axes


def _dims(node: Argument | None, x: Value, scope: Scope) -> int:
    count = 1 if node is None else integer(node, scope)
    if node is not None and not 1 <= count <= len(x.shape):
        what = f"dims is {count}, and {x.name} has {len(x.shape)} dimension(s)"
        mend = f"dims says how many trailing dimensions are meant: 1 to {len(x.shape)}; dim names them"
        raise scope.fail(ArgumentError(node.span, found=count, what=what, mend=mend))
    return count


def _groups(stage: Assign, x: Value, node: Argument, scope: Scope) -> int:
    groups, channels = integer(node, scope), x.shape[1]
    if groups < 1 or channels % groups:
        what = f"{groups} groups of the {channels} channels of {x.name}"
        mend = f"the number of groups divides the channels, {channels}"
        raise scope.fail(ArgumentError(node.span, found=groups, what=what, mend=mend))
    return groups


def _vector(stage: Assign, name: str, node: Argument, x: Value, affine: tuple[int, ...], scope: Scope) -> Value:
    """The weight or the bias: one element for each place along the dimensions ``affine``, of x's type."""
    value = tensor(node, scope)
    wanted = tuple(x.shape[axis] for axis in affine)
    if value.shape != wanted:
        form = f"a vector of {wanted[0]}" if len(wanted) == 1 else f"of shape {list(wanted)}"
        what = f"{name} of {stage.op} is {form}, and {value.name} has shape {list(value.shape)}"
        where = "each channel" if stage.op in BY_CHANNEL else "each place along what is normalised"
        mend = f"it has one element for {where}; reshape it, or use >> mul(t) and >> add(t)"
        raise scope.fail(ShapeMismatch(node.span, found=list(value.shape), what=what, mend=mend))
    if value.dtype is not x.dtype:
        what = f"{x.name} is {x.dtype} and {value.name} is {value.dtype}"
        mend = f"cast one of them: t = cast({value.name}, {x.dtype})"
        raise scope.fail(ShapeMismatch(node.span, found=str(value.dtype), what=what, mend=mend))
    if not value.contiguous:
        what = f"{name} of {stage.op} is read as it lies, and the elements of {value.name} do not lie side by side"
        mend = f"copy it first: c = map({value.name})"
        raise scope.fail(Layout(node.span, found=list(value.strides), what=what, mend=mend))
    return value


def _eps(node: Argument | None, scope: Scope) -> float:
    if node is None:
        return EPS
    value = float(number(node, scope))
    if not 0 <= value < math.inf:
        what = f"eps is {format_value(node)}"
        raise scope.fail(ArgumentError(node.span, what=what, mend="eps is 0 or a small positive number, as 1e-5"))
    return value


def _reduction(stage: Assign, x: Value, axes: tuple[int, ...], given: dict[str, Argument], scope: Scope) -> RowWork:
    kind = _kind(given["kind"], scope)
    if kind in PLACES and len(axes) > 1 and not x.contiguous:
        what = f"{kind} over several dimensions counts elements row-major, and {x.name} is channels-last"
        raise scope.fail(Layout(given["x"].span, what=what, mend=f"copy it first: c = map({x.name})"))
    extents = [(1 if axis in axes else extent, axis in axes) for axis, extent in enumerate(x.shape)]
    keepdim = truth("keepdim", given.get("keepdim"), False, scope)
    shape = tuple(extent for extent, gone in extents if keepdim or not gone)
    columns = math.prod(x.shape[axis] for axis in axes)
    attributes = {
        "kind": kind, "axes": axes, "groups": 0, "rows": math.prod(shape), "columns": columns,
        "eps": None, "affine": (), "weight": False, "bias": False,
    }  # fmt: skip
    return RowWork((x,), fresh(stage.target, DType.I64 if kind in PLACES else x.dtype, shape), attributes)


def _kind(node: Argument, scope: Scope) -> str:
    found = format_value(node)
    if not isinstance(node, Name) or found not in REDUCTIONS:
        mend = among(found, list(REDUCTIONS), f"write {', '.join(REDUCTIONS)}")
        raise scope.fail(ArgumentError(node.span, found=found, what=f"reduce knows no {found!r}", mend=mend))
    return found
