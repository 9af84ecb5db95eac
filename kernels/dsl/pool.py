"""The pooling stages: windows that go over a tensor's spatial dimensions and give their largest element or their mean.

Arguments mean what they mean in torch. Pooling with indices, with a divisor of one's own, and over windows that
differ in size is for torch stages; a pool over everything is a ``reduce``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.dsl.arguments import extents, given, truth
from kernels.dsl.errors import ArgumentError, ShapeMismatch
from kernels.dsl.ir import Value
from kernels.dsl.movement import like, require_dense
from kernels.dsl.ops import POOLS
from kernels.dsl.resolve import tensor
from kernels.dsl.scope import Scope
from kernels.dsl.syntax import Argument, Assign

_PARAMETERS = {
    "max": ("x", "kernel", "stride", "padding", "dilation", "ceil_mode"),
    "avg": ("x", "kernel", "stride", "padding", "ceil_mode", "count_include_pad"),
}
"""The arguments by kind, in torch's order."""
_SPATIAL = ("L", "H, W", "D, H, W")


@dataclass(frozen=True, slots=True)
class PoolWork:
    """What a pool reads, its result and its attributes in ``ir.Stage``."""

    x: Value
    result: Value
    attributes: dict[str, Any]


def read_pool(stage: Assign, scope: Scope) -> PoolWork:
    """The work of a stage whose ``op`` is one of ``ops.POOLS``; fails with the error noted."""
    kind, dims = POOLS[stage.op]
    found = given(stage, _PARAMETERS[kind], 2, scope)
    x = _source(stage, found["x"], dims, scope)

    def numbers(name: str, otherwise: tuple[int, ...], least: int) -> tuple[int, ...]:
        return extents(stage, name, found[name], dims, least, scope) if name in found else otherwise

    kernel = numbers("kernel", (1,) * dims, 1)
    attributes: dict[str, Any] = {
        "kind": kind,
        "dims": dims,
        "batch": x.shape[0],
        "channels": x.shape[1],
        "input": x.shape[2:],
        "kernel": kernel,
        "stride": numbers("stride", kernel, 1),
        "padding": numbers("padding", (0,) * dims, 0),
        "dilation": numbers("dilation", (1,) * dims, 1),
        "count_include_pad": truth("count_include_pad", found.get("count_include_pad"), kind == "avg", scope),
    }
    ceil_mode = truth("ceil_mode", found.get("ceil_mode"), False, scope)
    attributes["output"] = _outputs(stage, found, attributes, ceil_mode, scope)
    result = like(x, stage.target, (*x.shape[:2], *attributes["output"]))
    return PoolWork(x, result, attributes)


def _source(stage: Assign, node: Argument, dims: int, scope: Scope) -> Value:
    x = tensor(node, scope)
    if len(x.shape) != dims + 2:
        what = f"x of {stage.op} is [N, C, {_SPATIAL[dims - 1]}], and {x.name} has shape {list(x.shape)}"
        mend = f"give it {dims + 2} dimensions with reshape or unsqueeze"
        other = f"{stage.op[:-2]}{len(x.shape) - 2}d"
        mend += f", or use {other}" if other in POOLS else ""
        raise scope.fail(ShapeMismatch(node.span, found=list(x.shape), what=what, mend=mend))
    require_dense(stage, x, node, scope)
    return x


def _outputs(
    stage: Assign, found: dict[str, Argument], window: dict[str, Any], ceil_mode: bool, scope: Scope
) -> tuple[int, ...]:
    """The result's spatial extents, by torch's ``pooling_output_shape``."""
    made = []
    for axis, extent in enumerate(window["input"]):
        kernel, stride, padding, dilation = (window[k][axis] for k in ("kernel", "stride", "padding", "dilation"))
        reach = dilation * (kernel - 1) + 1
        half = reach // 2 if window["kind"] == "max" else kernel // 2
        if padding > half:
            what = f"padding of {stage.op} is {padding}, and its window reaches over {reach}"
            border = "value=-inf" if window["kind"] == "max" else "value=0"
            mend = f"padding is at most half of it, {half} here; for more, pad(x, …, {border}) first"
            raise scope.fail(ArgumentError(found["padding"].span, found=padding, what=what, mend=mend))
        over = extent + 2 * padding - reach
        if over < 0:
            what = f"the window reaches over {reach} elements of dimension {axis + 2}, and the padded input has "
            what += str(extent + 2 * padding)
            mend = "write a smaller kernel or dilation"
            raise scope.fail(ShapeMismatch(found["kernel"].span, found=kernel, what=what, mend=mend))
        count = (over + stride - 1 if ceil_mode else over) // stride + 1
        # A last window must begin inside the input or its left border.
        if ceil_mode and (count - 1) * stride >= extent + padding:
            count -= 1
        made.append(count)
    return tuple(made)
