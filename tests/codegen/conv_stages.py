"""Convolution stages made by hand, as the checker would make them, and their meaning in torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernels.dsl.conv_tiles import simt_tile
from kernels.dsl.ir import ChainStep, Stage, Value
from kernels.dsl.views import channels_last, fresh
from kernels.dtypes import DType
from tests.codegen.sm90a_stages import F32, span

CONV_KNOBS: dict[str, Any] = {
    "tile": [128, 128, 64],
    "cluster": [1, 1],
    "schedule": "cooperative",
    "stages": 0,
    "swizzle": 0,
    "raster": "auto",
    "layout": "row_major",
    "math": "f32",
    "acc": "f32",
    "out": "f32",
}


def convolution(
    x: Value, w: Value, chain: Sequence[ChainStep] = (), transposed: bool = False, stride: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0, dilation: int | tuple[int, ...] = 1, groups: int = 1,
    output_padding: int | tuple[int, ...] = 0, out: DType = F32, **knobs: Any,
) -> Stage:  # fmt: skip
    """A conv or conv_transpose of as many dimensions as its tensors have; ``knobs`` count as written."""
    dims = len(x.shape) - 2
    steps, pads, reaches, extra = (
        (value,) * dims if isinstance(value, int) else value
        for value in (stride, padding, dilation, output_padding)
    )
    kernel = w.shape[2:]
    output = tuple(
        (extent - 1) * step - 2 * pad + reach * (taps - 1) + 1 + more
        if transposed
        else (extent + 2 * pad - reach * (taps - 1) - 1) // step + 1
        for extent, taps, step, pad, reach, more in zip(
            x.shape[2:], kernel, steps, pads, reaches, extra, strict=True
        )
    )
    filters = w.shape[1] * groups if transposed else w.shape[0]
    filled = {**CONV_KNOBS, "out": out.value, **knobs}
    attributes: dict[str, Any] = {
        "kind": "conv_transpose" if transposed else "conv", "dims": dims, "batch": x.shape[0],
        "channels": x.shape[1], "filters": filters, "groups": groups, "input": x.shape[2:], "kernel": kernel,
        "output": output, "stride": steps, "padding": pads, "dilation": reaches, "math": filled["math"],
        "acc": DType(filled["acc"]),
    }  # fmt: skip
    if filled["math"] == "f32" and "tile" not in knobs:
        filled["tile"] = simt_tile(attributes)
    made = channels_last if filled["layout"] == "channels_last" else fresh
    return Stage(
        name="y", op="conv", operands=(x, w), results=(made("y", out, (x.shape[0], filters, *output)),),
        knobs=filled, written=frozenset(knobs), chain=tuple(chain), attributes=attributes, once=False, span=span(1),
    )  # fmt: skip


def reference(stage: Stage, x: Any, w: Any) -> Any:
    """The convolution alone, in float64."""
    import torch

    attributes = stage.attributes
    function = getattr(torch.nn.functional, f"{attributes['kind']}{attributes['dims']}d")
    arguments = {name: attributes[name] for name in ("stride", "padding", "dilation", "groups")}
    if attributes["kind"] == "conv_transpose":
        plain = function(x.double(), w.double(), **arguments)
        found = zip(attributes["output"], plain.shape[2:], strict=True)
        arguments["output_padding"] = tuple(wanted - given for wanted, given in found)
    return function(x.double(), w.double(), **arguments)
