"""A convolution seen as a product of matrices: rows are the pixels of the result, columns its filters.

That is how the tensor cores do it, with the channels of x and of the result innermost in memory. Nothing is judged
here; ``conv_rules`` says which convolutions can go this way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from kernels.dsl.ir import Apply, ChainStep, Expr, Load, Stage, Value

Extents = tuple[int, ...]

TMA_BYTES, STEP_BYTES = 16, 128
"""What TMA's strides are multiples of, and the most that one row of a step of the depth takes in shared memory."""
READ_BYTES = {"tf32": 4, "f16": 2, "bf16": 2}
"""Bytes of an element as the tensor cores' loads read it, by ``math``."""


@dataclass(frozen=True, slots=True)
class Window:
    """A convolution's window as that of a plain one; ``behind`` is the padding at the far end of each dimension."""

    stride: Extents
    padding: Extents
    behind: Extents
    dilation: Extents


def plain_window(attributes: dict[str, Any]) -> Window:
    """The window itself, or that of the plain convolution which a transposed one with a stride of 1 is.

    The padding behind is what the last output reads and never less than 0: elements that no output reads do not count.
    """
    stride, padding, dilation = attributes["stride"], attributes["padding"], attributes["dilation"]
    reaches = [reach * (taps - 1) for taps, reach in zip(attributes["kernel"], dilation, strict=True)]
    if attributes["kind"] == "conv_transpose":
        padding = tuple(reach - before for reach, before in zip(reaches, padding, strict=True))
    read = zip(attributes["output"], stride, reaches, attributes["input"], padding, strict=True)
    behind = tuple(
        max(0, (out - 1) * step + reach + 1 - extent - before) for out, step, reach, extent, before in read
    )
    return Window(stride, padding, behind, dilation)


def copied(math_word: str, x: Value) -> bool:
    """Whether x and w are rounded in front of the product, and so may lie in memory in any way."""
    return str(x.dtype) == "f32" and math_word in ("f16", "bf16")


def depth_channels(attributes: dict[str, Any], math_word: str, x: Value) -> int:
    """Channels as they are multiplied: those of a copy are filled up to the 16 bytes that TMA needs."""
    channels = int(attributes["channels"])
    unit = TMA_BYTES // READ_BYTES[math_word]
    return -(-channels // unit) * unit if copied(math_word, x) else channels


def joined_taps(attributes: dict[str, Any], math_word: str, x: Value, w: Value) -> int:
    """How many taps of the last dimension are read as if they were channels of one; 1 where they are not.

    With channels innermost, neighbouring taps lie side by side in x as in w: a box of x that begins at a pixel and is
    ``taps`` times as many channels long holds them all, so few channels still fill a step of the depth. No tap may
    read padding, since a box's end is no end of the input; and it must save steps of 128 bytes.
    """
    window, taps = plain_window(attributes), int(attributes["kernel"][-1])
    if taps == 1 or window.padding[-1] or window.behind[-1] or window.dilation[-1] != 1:
        return 1
    channels, lanes = depth_channels(attributes, math_word, x), STEP_BYTES // READ_BYTES[math_word]
    transposed = attributes["kind"] == "conv_transpose"
    in_place = () if copied(math_word, x) else (x,) if transposed else (x, w)
    side_by_side = all(value.shape[-1] == 1 or value.strides[-1] == channels for value in in_place)
    return taps if side_by_side and -(-taps * channels // lanes) < taps * -(-channels // lanes) else 1


def row_strides(value: Value) -> tuple[int, int] | None:
    """How far apart pixels and channels of ``value`` [N, C, *spatial] lie, where its pixels lie evenly; else None."""
    rows, step, evenly = 0, 0, True
    for axis in (*range(len(value.shape) - 1, 1, -1), 0):
        if value.shape[axis] == 1:
            continue
        if step == 0:
            rows = value.strides[axis]
        elif value.strides[axis] != rows * step:
            evenly = False
        step = max(step, 1) * value.shape[axis]
    return (rows, value.strides[1] if value.shape[1] > 1 else 0) if evenly else None


def as_product(stage: Stage) -> Stage | None:
    """The convolution as a gemm of a[pixels, depth] and b[depth, filters], both K-major, with its knobs and its chain.

    None where the pixels of a tensor in the chain do not lie evenly.
    """
    attributes = stage.attributes
    pixels, filters = attributes["batch"] * math.prod(attributes["output"]), attributes["filters"]
    depth = attributes["channels"] * math.prod(attributes["kernel"])
    chain = []
    for step in stage.chain:
        expr = _as_matrix(step.expr, pixels)
        if expr is None:
            return None
        chain.append(ChainStep(step.text, expr, step.span))
    x, w = stage.operands[:2]
    a = replace(x, shape=(pixels, depth), strides=(depth, 1))
    b = replace(w, shape=(depth, filters), strides=(1, depth))
    result = replace(stage.result, shape=(pixels, filters), strides=(filters, 1))
    product = {"m": pixels, "n": filters, "k": depth, "math": attributes["math"], "acc": attributes["acc"]}
    return replace(stage, op="gemm", operands=(a, b), results=(result,), chain=tuple(chain), attributes=product)


def _as_matrix(expr: Expr, pixels: int) -> Expr | None:
    if isinstance(expr, Load):
        strides = row_strides(expr.value)
        if strides is None:
            return None
        return Load(replace(expr.value, shape=(pixels, expr.value.shape[1]), strides=strides))
    if isinstance(expr, Apply):
        arguments = [_as_matrix(argument, pixels) for argument in expr.args]
        return (
            None
            if None in arguments
            else Apply(expr.function, tuple(each for each in arguments if each is not None))
        )
    return expr
