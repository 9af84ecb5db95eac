"""The row stages: reduce, softmax and the norms, each along the trailing dimensions of a row-major tensor.

It reads their arguments and decides rows, columns and the result's shape; chains and knobs are ``stages``' business,
element types ``layouts``'. Work along other dimensions is for torch stages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernels.dsl.errors import ArgumentError, Layout, ShapeMismatch
from kernels.dsl.ir import Value
from kernels.dsl.ops import OPS
from kernels.dsl.printer import format_value
from kernels.dsl.resolve import integer, number, suggestion, tensor
from kernels.dsl.scope import Scope
from kernels.dsl.syntax import Argument, Assign, Name

REDUCTIONS = ("sum", "mean", "max", "min", "prod", "logsumexp", "sumsq")
"""What ``reduce`` does with a row; ``sumsq`` is the sum of squares."""
EPS = 1e-5
"""Added to the variance (layer_norm) or the mean square (rms_norm) where a program does not say."""

_PARAMETERS: dict[str, tuple[str, ...]] = {
    "reduce": ("x", "kind"),
    "softmax": ("x",),
    "log_softmax": ("x",),
    "layer_norm": ("x", "weight", "bias"),
    "rms_norm": ("x", "weight"),
}
_NAMED_ONLY: dict[str, tuple[str, ...]] = {
    "reduce": ("dims", "keepdim"),
    "layer_norm": ("eps",),
    "rms_norm": ("eps",),
}
_TRUTHS = {"true": True, "false": False, "True": True, "False": False}


@dataclass(frozen=True, slots=True)
class RowWork:
    """What a row stage reads, the shape it gives, and its attributes in ``ir.Stage``."""

    operands: tuple[Value, ...]
    shape: tuple[int, ...]
    attributes: dict[str, Any]


def row_work(stage: Assign, scope: Scope) -> RowWork:
    """The work of a stage whose ``op`` is one of the row stages; fails with the error noted."""
    given = _given(stage, scope)
    x = _rows_of(stage, given["x"], scope)
    if stage.op == "reduce":
        return _reduction(stage, x, given, scope)
    vectors = tuple(_vector(stage, name, given[name], x, scope) for name in ("weight", "bias") if name in given)
    if "bias" in given and "weight" not in given:
        what, mend = f"{stage.op} with a bias and no weight", "give the weight too, or add the bias: >> bias(t)"
        raise scope.fail(ArgumentError(given["bias"].span, what=what, mend=mend))
    eps = _eps(given.get("eps"), scope) if stage.op.endswith("_norm") else None
    rows = math.prod(x.shape[:-1])
    return RowWork((x, *vectors), x.shape, _attributes(stage.op, rows, x.shape[-1], eps, len(vectors)))


def _attributes(kind: str, rows: int, columns: int, eps: float | None = None, vectors: int = 0) -> dict[str, Any]:
    weight, bias = vectors > 0, vectors > 1
    return {"kind": kind, "rows": rows, "columns": columns, "eps": eps, "weight": weight, "bias": bias}


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
    for name in names[: 2 if stage.op == "reduce" else 1]:
        if name not in given:
            raise scope.fail(ArgumentError(stage.span, what=f"{stage.op} needs {name!r}", mend=usage))
    return given


def _rows_of(stage: Assign, node: Argument, scope: Scope) -> Value:
    """The operand whose rows are worked on."""
    x = tensor(node, scope)
    if not x.shape:
        what = f"{stage.op} works along the last dimension, and {x.name} has none"
        raise scope.fail(ShapeMismatch(node.span, found=[], what=what, mend="use map for a single element"))
    if not x.contiguous:
        what = f"{stage.op} reads rows, and the elements of {x.name} do not lie row-major"
        mend = f"copy it first: c = map({x.name})"
        raise scope.fail(Layout(node.span, found=list(x.strides), what=what, mend=mend))
    return x


def _vector(stage: Assign, name: str, node: Argument, x: Value, scope: Scope) -> Value:
    """The weight or the bias: one element a column, of x's type."""
    value = tensor(node, scope)
    columns = x.shape[-1]
    if value.shape != (columns,):
        what = f"{name} of {stage.op} is a vector of {columns}, and {value.name} has shape {list(value.shape)}"
        mend = "it has one element for each of the last extent of x; reshape it, or use >> mul(t) and >> add(t)"
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


def _reduction(stage: Assign, x: Value, given: dict[str, Argument], scope: Scope) -> RowWork:
    kind = _kind(given["kind"], scope)
    dims = _dims(given.get("dims"), x, scope)
    keepdim = _truth(given.get("keepdim"), scope)
    kept, gone = x.shape[: len(x.shape) - dims], x.shape[len(x.shape) - dims :]
    shape = (*kept, *(1,) * dims) if keepdim else kept
    return RowWork((x,), shape, _attributes(kind, math.prod(kept), math.prod(gone)))


def _kind(node: Argument, scope: Scope) -> str:
    found = format_value(node)
    if not isinstance(node, Name) or found not in REDUCTIONS:
        near = suggestion(found, list(REDUCTIONS))
        mend = f"write {', '.join(REDUCTIONS)}" + (f" ({near})" if near.startswith("did") else "")
        raise scope.fail(ArgumentError(node.span, found=found, what=f"reduce knows no {found!r}", mend=mend))
    return found


def _dims(node: Argument | None, x: Value, scope: Scope) -> int:
    count = 1 if node is None else integer(node, scope)
    if node is not None and not 1 <= count <= len(x.shape):
        what = f"dims is {count}, and {x.name} has {len(x.shape)} dimension(s)"
        mend = f"dims says how many trailing dimensions are reduced: 1 to {len(x.shape)}"
        raise scope.fail(ArgumentError(node.span, found=count, what=what, mend=mend))
    return count


def _truth(node: Argument | None, scope: Scope) -> bool:
    if node is None:
        return False
    if not isinstance(node, Name) or node.text not in _TRUTHS:
        what = f"keepdim is {format_value(node)}"
        raise scope.fail(ArgumentError(node.span, what=what, mend="write keepdim=true or keepdim=false"))
    return _TRUTHS[node.text]
