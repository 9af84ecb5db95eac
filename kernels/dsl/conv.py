"""The convolution stages: what they read, the shape they give, and their attributes in the checked program.

Arguments mean what they mean in torch. Knobs are chosen in ``conv_knobs``, chains built by ``stages``, and what a
target's loads can do is for ``layouts``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.dsl.errors import ArgumentError, ShapeMismatch
from kernels.dsl.ir import Value
from kernels.dsl.ops import CONVOLUTIONS, OPS
from kernels.dsl.printer import format_value
from kernels.dsl.resolve import integer, tensor
from kernels.dsl.scope import Failed, Scope
from kernels.dsl.syntax import Argument, Assign, Name, Sequence, Text

Extents = tuple[int, ...]

_NUMBERS = {
    "conv": ("stride", "padding", "dilation", "groups"),
    "conv_transpose": ("stride", "padding", "output_padding", "groups", "dilation"),
}
"""The named arguments by kind, in torch's order."""
_DEFAULTS = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "output_padding": 0}
_LEAST = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "output_padding": 0}
_SPATIAL = ("L", "H, W", "D, H, W")
_KERNEL = ("S", "R, S", "T, R, S")


@dataclass(frozen=True, slots=True)
class ConvWork:
    """What a convolution reads, the shape it gives, and its attributes but ``math`` and ``acc``."""

    x: Value
    weight: Value
    shape: Extents
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Window:
    """How the kernel goes over the input; ``padding`` is in front, ``behind`` is at the other end."""

    stride: Extents
    padding: Extents
    behind: Extents
    dilation: Extents
    output_padding: Extents
    groups: int


def conv_work(stage: Assign, scope: Scope) -> ConvWork:
    """The work of a stage whose ``op`` is one of ``ops.CONVOLUTIONS``; fails with the error noted."""
    kind, dims = CONVOLUTIONS[stage.op]
    given = _given(stage, scope)
    x, weight = _tensors(stage, given, scope)
    window = _window(stage, given, weight.shape[2:], x.shape[2:], scope)
    filters = _channels(stage, given, x, weight, window.groups, scope)
    output = _outputs(stage, given, x.shape[2:], weight.shape[2:], window, scope)
    attributes: dict[str, Any] = {
        "kind": kind,
        "dims": dims,
        "batch": x.shape[0],
        "channels": x.shape[1],
        "filters": filters,
        "groups": window.groups,
        "input": x.shape[2:],
        "kernel": weight.shape[2:],
        "output": output,
        "stride": window.stride,
        "padding": window.padding,
        "dilation": window.dilation,
    }
    return ConvWork(x, weight, (x.shape[0], filters, *output), attributes)


# Arguments.


def _given(stage: Assign, scope: Scope) -> dict[str, Argument]:
    """The arguments by name; only the tensors are taken by position, since torch has a bias in third place."""
    names = ("x", "w", *_NUMBERS[CONVOLUTIONS[stage.op][0]])
    usage = f"write {OPS[stage.op].usage}"
    if len(stage.args) > 2:
        what = f"{stage.op} takes x and w by position and got {len(stage.args)} arguments"
        mend = f"name the others, and add a bias in the chain: {stage.op}(x, w, stride=1) >> bias(b)"
        raise scope.fail(ArgumentError(stage.args[2].span, what=what, mend=mend))
    given = dict(zip(("x", "w"), stage.args, strict=False))
    for keyword in stage.kwargs:
        if keyword.name not in names:
            mend = f"add it in the chain: {stage.op}(x, w) >> bias(b)" if keyword.name == "bias" else usage
            what = f"{stage.op} has no argument {keyword.name!r}"
            raise scope.fail(ArgumentError(keyword.span, found=keyword.name, what=what, mend=mend))
        if keyword.name in given:
            what = f"{stage.op} got {keyword.name!r} twice"
            raise scope.fail(ArgumentError(keyword.span, what=what, mend="keep one of them"))
        given[keyword.name] = keyword.value
    for name in ("x", "w"):
        if name not in given:
            raise scope.fail(ArgumentError(stage.span, what=f"{stage.op} needs {name!r}", mend=usage))
    return given


def _tensors(stage: Assign, given: dict[str, Argument], scope: Scope) -> tuple[Value, Value]:
    """Both tensors, of the right rank and of one element type."""
    kind, dims = CONVOLUTIONS[stage.op]
    second = "C, K/groups" if kind == "conv_transpose" else "K, C/groups"
    forms = {"x": f"[N, C, {_SPATIAL[dims - 1]}]", "w": f"[{second}, {_KERNEL[dims - 1]}]"}
    found: list[Value] = []
    for name, form in forms.items():
        try:
            value = tensor(given[name], scope)
        except Failed:
            continue
        if len(value.shape) == dims + 2:
            found.append(value)
            continue
        what = f"{name} of {stage.op} is {form}, and {value.name} has shape {list(value.shape)}"
        mend = f"give it {dims + 2} dimensions with reshape or unsqueeze{_other_dims(stage, len(value.shape) - 2)}"
        scope.note(ShapeMismatch(given[name].span, found=list(value.shape), what=what, mend=mend))
    if len(found) < 2:
        raise Failed
    x, weight = found
    if x.dtype is not weight.dtype:
        what = f"{x.name} is {x.dtype} and {weight.name} is {weight.dtype}"
        mend = f"cast one of them: t = cast({weight.name}, {x.dtype})"
        raise scope.fail(ShapeMismatch(given["w"].span, found=str(weight.dtype), what=what, mend=mend))
    return x, weight


def _other_dims(stage: Assign, dims: int) -> str:
    name = f"{CONVOLUTIONS[stage.op][0]}{dims}d"
    return f", or use {name}" if name in CONVOLUTIONS else ""


def _window(stage: Assign, given: dict[str, Argument], kernel: Extents, extents: Extents, scope: Scope) -> _Window:
    kind, dims = CONVOLUTIONS[stage.op]
    numbers = {name: _numbers(stage, name, given, dims, scope) for name in _DEFAULTS if not _is_same(given, name)}
    stride, dilation = numbers["stride"], numbers["dilation"]
    groups = numbers["groups"][0]
    padding = behind = numbers.get("padding", (0,) * dims)
    if _is_same(given, "padding"):
        if kind == "conv_transpose" or any(step != 1 for step in stride):
            what = f"padding=same for {stage.op}" + (
                "" if kind == "conv_transpose" else f" with a stride of {stride}"
            )
            mend = "it is there for a stride of 1 of a convolution that is not transposed: write the numbers"
            raise scope.fail(ArgumentError(given["padding"].span, found="same", what=what, mend=mend))
        # As torch has it, the odd one of an even kernel is padded behind.
        total = [reach * (extent - 1) for reach, extent in zip(dilation, kernel, strict=True)]
        padding = tuple(count // 2 for count in total)
        behind = tuple(count - count // 2 for count in total)
    return _Window(stride, padding, behind, dilation, numbers["output_padding"], groups)


def _is_same(given: dict[str, Argument], name: str) -> bool:
    node = given.get(name)
    text = node.text if isinstance(node, Name) else node.value if isinstance(node, Text) else ""
    return name == "padding" and text == "same"


def _numbers(stage: Assign, name: str, given: dict[str, Argument], dims: int, scope: Scope) -> Extents:
    """A named argument as one integer a spatial dimension (``groups``: as one integer)."""
    node = given.get(name)
    if node is None:
        return (_DEFAULTS[name],) * dims
    items = node.items if isinstance(node, Sequence) else (node,)
    count = 1 if name == "groups" else dims
    if len(items) not in (1, count):
        what = f"{name} of {stage.op} has {len(items)} numbers"
        mend = "write one number" if count == 1 else f"write one number, or one for each of {count} dimensions"
        raise scope.fail(ArgumentError(node.span, found=format_value(node), what=what, mend=mend))
    values = tuple(integer(item, scope) for item in items)
    for item, value in zip(items, values, strict=True):
        if value < _LEAST[name]:
            what = f"{name} of {stage.op} is {value}"
            raise scope.fail(
                ArgumentError(item.span, found=value, what=what, mend=f"{name} is at least {_LEAST[name]}")
            )
    return values if len(values) == dims else values * dims


# Channels and extents.


def _channels(stage: Assign, given: dict[str, Argument], x: Value, weight: Value, groups: int, scope: Scope) -> int:
    """The filters (K); every disagreement of x's channels, the weight's and groups is told with its mend."""
    transposed = CONVOLUTIONS[stage.op][0] == "conv_transpose"
    channels, (first, second) = x.shape[1], weight.shape[:2]
    span = given["groups"].span if "groups" in given else stage.span
    if channels % groups:
        what = f"groups is {groups}, and {x.name} has {channels} channels"
        raise scope.fail(ArgumentError(span, found=groups, what=what, mend="groups divides the channels of x"))
    if not transposed and first % groups:
        what = f"groups is {groups}, and {weight.name} has {first} filters"
        raise scope.fail(ArgumentError(span, found=groups, what=what, mend="groups divides the filters"))
    expected, found = (channels, first) if transposed else (channels // groups, second)
    if expected == found:
        return second * groups if transposed else first
    place = "first" if transposed else "second"
    share = f"C = {channels}" if transposed or groups == 1 else f"C/groups = {channels}/{groups} = {expected}"
    what = f"{x.name} has {channels} channels, so the {place} extent of {weight.name} is {share}, and it is {found}"
    mend = f"give w the shape {'[C, K/groups, …]' if transposed else '[K, C/groups, …]'}"
    other = "conv" if transposed else "conv_transpose"
    if (second * groups if transposed else first) == channels:
        mend = f"{weight.name} is laid out for {other}{weight.shape[2:] and len(weight.shape) - 2}d"
        mend += f": take that, or turn it: {weight.name}.{_turned(weight)}" if groups == 1 else ": take that"
    elif not transposed and channels % second == 0 and first % (channels // second) == 0:
        mend = f"write groups={channels // second}"
    raise scope.fail(ShapeMismatch(given["w"].span, found=list(weight.shape), what=what, mend=mend))


def _turned(weight: Value) -> str:
    order = (1, 0, *range(2, len(weight.shape)))
    return f"permute({', '.join(map(str, order))})"


def _outputs(
    stage: Assign, given: dict[str, Argument], extents: Extents, kernel: Extents, window: _Window, scope: Scope
) -> Extents:
    """The result's spatial extents, by torch's formulas."""
    transposed = CONVOLUTIONS[stage.op][0] == "conv_transpose"
    output = []
    for axis, (extent, taps) in enumerate(zip(extents, kernel, strict=True)):
        stride, dilation = window.stride[axis], window.dilation[axis]
        before, behind, extra = window.padding[axis], window.behind[axis], window.output_padding[axis]
        reach = dilation * (taps - 1) + 1
        if transposed:
            _transposed_fits(stage, given, extra, max(stride, dilation), scope)
            output.append((extent - 1) * stride - before - behind + reach + extra)
        else:
            output.append((extent + before + behind - reach) // stride + 1)
        if output[-1] < 1:
            name = f"dimension {axis + 2}"
            if transposed:
                what = f"padding of {before} takes away all of {name} of {stage.target}"
                mend = "make padding smaller"
            else:
                padded = f"{extent}" + (f" + {before} + {behind}" if before + behind else "")
                what = f"the kernel reaches over {reach} elements of {name}, and the padded input has {padded}"
                mend = f"write a padding of at least {-(-(reach - extent) // 2)}, or a smaller kernel or dilation"
            raise scope.fail(ShapeMismatch(given["w"].span, found=output[-1], what=what, mend=mend))
    return tuple(output)


def _transposed_fits(stage: Assign, given: dict[str, Argument], extra: int, limit: int, scope: Scope) -> None:
    if extra >= limit:
        what = f"output_padding of {stage.op} is {extra}"
        mend = f"it is smaller than stride or dilation, which is {limit} there"
        raise scope.fail(ArgumentError(given["output_padding"].span, found=extra, what=what, mend=mend))
