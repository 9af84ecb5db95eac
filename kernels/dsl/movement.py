"""The stages that move elements and compute nothing: ``relayout`` and ``pad``.

It reads their arguments and decides the result's memory order; knobs and element types are others' business.
Reflected and replicated borders are for torch stages.
"""

from __future__ import annotations

from kernels.dsl.arguments import given
from kernels.dsl.errors import ArgumentError, Layout, ShapeMismatch
from kernels.dsl.ir import Value
from kernels.dsl.printer import format_value
from kernels.dsl.resolve import among, integer, number, tensor
from kernels.dsl.scope import Scope
from kernels.dsl.syntax import Argument, Assign, Name, Sequence
from kernels.dsl.views import channels_last, column_major, fresh

LAYOUTS = {"row_major": 0, "channels_last": 3, "column_major": 2}
"""The memory orders of ``relayout`` by name, and the dimensions that each needs at least."""

_MAKERS = {"row_major": fresh, "channels_last": channels_last, "column_major": column_major}


def read_relayout(stage: Assign, scope: Scope) -> tuple[Value, Value, str]:
    """The operand, the result and the layout's name; fails with the error noted."""
    found = given(stage, ("x", "layout"), 2, scope)
    x = tensor(found["x"], scope)
    node = found["layout"]
    layout = format_value(node)
    if not isinstance(node, Name) or layout not in LAYOUTS:
        mend = among(layout, list(LAYOUTS), f"write {', '.join(LAYOUTS)}")
        raise scope.fail(ArgumentError(node.span, found=layout, what=f"relayout knows no {layout!r}", mend=mend))
    if len(x.shape) < LAYOUTS[layout]:
        what = f"{layout} is for {LAYOUTS[layout]} dimensions or more, and {x.name} has {len(x.shape)}"
        raise scope.fail(ShapeMismatch(node.span, found=list(x.shape), what=what, mend="write row_major"))
    return x, _MAKERS[layout](stage.target, x.dtype, x.shape), layout


def read_pad(stage: Assign, scope: Scope) -> tuple[Value, Value, dict[str, object]]:
    """The operand, the result and the attributes ``before``, ``after`` (by dimension) and ``value``."""
    found = given(stage, ("x", "padding", "value"), 2, scope)
    x = tensor(found["x"], scope)
    before, after = _borders(x, found["padding"], scope)
    value = float(number(found["value"], scope)) if "value" in found else 0.0
    if not x.dtype.is_float and not value.is_integer():
        what = f"value is {value:g}, and {x.name} is {x.dtype}"
        raise scope.fail(ArgumentError(found["value"].span, found=value, what=what, mend="write a whole number"))
    shape = tuple(sum(parts) for parts in zip(before, x.shape, after, strict=True))
    result = like(x, stage.target, shape)
    return x, result, {"before": before, "after": after, "value": value}


def _borders(x: Value, node: Argument, scope: Scope) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How much goes in front of each dimension and behind it. Written as in torch: the last dimension's pair first."""
    mend = (
        "write a pair (before, after) for the last dimension, then one for that before it: (0, 5) or (1, 1, 2, 2)"
    )
    if not isinstance(node, Sequence) or not node.items or len(node.items) % 2:
        raise scope.fail(ArgumentError(node.span, what=f"the padding is {format_value(node)}", mend=mend))
    numbers = [integer(item, scope) for item in node.items]
    if len(numbers) > 2 * len(x.shape):
        what = f"the padding has {len(numbers) // 2} pairs, and {x.name} has {len(x.shape)} dimension(s)"
        raise scope.fail(
            ArgumentError(node.span, what=what, mend="write a pair a dimension at most, the last first")
        )
    for item, count in zip(node.items, numbers, strict=True):
        if count < 0:
            mend = f"take away elements with a view: {x.name}.slice(dim, start, stop)"
            raise scope.fail(ArgumentError(item.span, found=count, what=f"a padding of {count}", mend=mend))
    numbers += [0] * (2 * len(x.shape) - len(numbers))
    return tuple(numbers[-2::-2]), tuple(numbers[::-2])


def like(x: Value, name: str, shape: tuple[int, ...]) -> Value:
    """A tensor of ``shape`` that owns its memory, channels-last where ``x`` is that and not row-major."""
    return (channels_last if x.channels_last and not x.contiguous else fresh)(name, x.dtype, shape)


def require_dense(stage: Assign, x: Value, node: Argument, scope: Scope) -> None:
    """Fail where ``x`` is neither row-major nor channels-last."""
    if not x.contiguous and not x.channels_last:
        what = (
            f"{stage.op} reads row-major or channels-last tensors, and {x.name} has the strides {list(x.strides)}"
        )
        mend = f"copy it first: c = map({x.name}), or c = relayout({x.name}, channels_last)"
        raise scope.fail(Layout(node.span, found=list(x.strides), what=what, mend=mend))


def pad_line(value: Value, axis: int, more: int) -> str:
    """The stage, ready to paste, that gives dimension ``axis`` (counted from the back) of ``value`` ``more`` zeros.

    ``w.T`` is padded as ``w``, so that its memory order stays; the padded stage is then read as ``….T`` again.
    """
    text = value.name
    if text.endswith(".T"):
        text, axis = text[:-2], {-1: -2, -2: -1}.get(axis, axis)
    numbers = [0, 0] * (-axis - 1) + [0, more]
    return f"{value.storage.replace('.', '_')}p = pad({text}, ({', '.join(map(str, numbers))}))"
