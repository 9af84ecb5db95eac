"""Knobs of convolutions that a program left out, by target.

As ``defaults``: starting points for a search, good for any size. Nothing is checked here.
"""

from __future__ import annotations

import math
from typing import Any

from kernels.dsl.conv import ConvWork
from kernels.dsl.conv_defaults import sm90a_conv
from kernels.dsl.conv_tiles import simt_tile
from kernels.dsl.ir import ChainStep, Value
from kernels.dsl.knobs import KnobData
from kernels.dsl.simd import Simd
from kernels.dtypes import DType
from kernels.targets import Policy, Target

_HOST_PIXELS = 512
_HOST_PRODUCTS = 768
"""Channels times taps that are summed at once: 12 filters of f32 weights for them take 36 KiB."""
_HOST_SUMS = 2**17
"""Filters times pixels of a block that is summed in parts: 512 KiB of f32."""
_HOST_INPUT = 2**18
"""Elements of the input that a block reads at once: 1 MiB of f32."""


def conv_knobs(
    work: ConvWork,
    written: dict[str, KnobData],
    target: Target,
    policy: Policy,
    simd: Simd,
    chain: tuple[ChainStep, ...],
) -> dict[str, Any]:
    """Every knob of a convolution for ``target``."""
    if target is Target.SM90A:
        return sm90a_conv(work, written, policy, chain)
    if target is Target.SM80:
        return _common(work, target, policy) | {"math": "f32", "tile": simt_tile(work.attributes)} | written
    knobs = _common(work, target, policy) | written
    if target is Target.HOST:
        knobs = _host(work, knobs, simd) | written
    return knobs


def _common(work: ConvWork, target: Target, policy: Policy) -> dict[str, Any]:
    dtype = work.x.dtype
    math = "f32" if target is Target.HOST or policy is Policy.STRICT else "tf32"
    if dtype is not DType.F32:
        math = "f32" if target is Target.HOST else str(dtype)
    return {
        "layout": "channels_last" if _lies_channels_last(work.x) else "row_major",
        "math": math,
        "acc": "f64" if dtype is DType.F64 else "f32",
        "out": str(dtype),
    }


# host


def _host(work: ConvWork, knobs: dict[str, Any], simd: Simd) -> dict[str, Any]:
    """The register tile that wastes least of this convolution, and blocks whose input and sums stay in cache."""
    lanes = simd.lanes // (2 if knobs["acc"] == "f64" else 1)
    filters = work.attributes["filters"] // work.attributes["groups"]
    tile = knobs.get("tile") or _host_tile(work, filters)
    if knobs["layout"] == "channels_last":
        rows, columns = _block(work.attributes, tile[0])
        sides = rows * columns, filters
    else:
        sides = filters, _positions(work.attributes, tile[0])
    return knobs | {"tile": tile, "micro": _host_micro(*sides, lanes, simd), "threads": 0}


def _host_micro(rows: int, columns: int, lanes: int, simd: Simd) -> list[int]:
    """The tile of least time for ``rows`` by ``columns`` sums, of those that fit the registers.

    A step takes as many cycles as its products or its loads at two a cycle, where a vector that lies anywhere counts as
    two loads, and never less than the four of one product's latency; half a cycle more goes to the loop. Of equal
    tiles the largest.
    """
    tiles = []
    for vectors in range(1, 9):
        for m in range(1, (simd.registers - 1 - vectors) // vectors + 1):
            cycles = max(m * vectors, m + 2 * vectors, 8) / 2 + 0.5
            time = -(-rows // m) * -(-columns // (vectors * lanes)) * cycles
            tiles.append((time, -m * vectors, [m, vectors * lanes]))
    return min(tiles)[-1]


def _host_tile(work: ConvWork, filters: int) -> list[int]:
    """Channels whose weights, for the filters of a register tile, stay in the first cache; pixels whose sums stay in
    the second where there are several such blocks."""
    attributes = work.attributes
    channels, taps = attributes["channels"] // attributes["groups"], math.prod(attributes["kernel"])
    parts = max(1, -(-channels * taps // _HOST_PRODUCTS))
    pixels = _HOST_PIXELS
    if parts > 1:
        pixels = max(_HOST_PIXELS // 4, min(pixels, _HOST_SUMS // filters))
    # A block reads its pixels and those around it.
    rows, columns = _block(attributes, pixels)
    down, along = _around(attributes)
    planes = attributes["kernel"][0] if attributes["dims"] == 3 else 1
    read = (rows + down) * (columns + along) * planes
    return [pixels, max(1, min(-(-channels // parts), _HOST_INPUT // read))]


def _block(attributes: dict[str, Any], pixels: int) -> tuple[int, int]:
    """Rows and columns of a block; those of a transposed convolution are cut by its stride."""
    transposed = attributes["kind"] == "conv_transpose"
    strides = attributes["stride"] if transposed else (1,) * attributes["dims"]
    sides = (-(-extent // stride) for extent, stride in zip(attributes["output"], strides, strict=True))
    *_, height, width = (1, *sides)
    columns = min(width, pixels)
    return min(height, max(1, pixels // columns)), columns


def _around(attributes: dict[str, Any]) -> tuple[int, int]:
    """Rows and columns that a block reads beside those of its pixels, on a grid of the stride."""
    sides = zip(attributes["kernel"], attributes["dilation"], attributes["stride"], strict=True)
    *_, down, along = (0, *((taps - 1) * dilation // stride for taps, dilation, stride in sides))
    return down, along


def _positions(attributes: dict[str, Any], pixels: int) -> int:
    """What a block of rows computes, with what lies between them."""
    rows, columns = _block(attributes, pixels)
    return (rows - 1) * (columns + _around(attributes)[1]) + columns


def _lies_channels_last(x: Value) -> bool:
    """Where an order is both, as with one channel, it counts as row-major."""
    return x.channels_last and not x.contiguous
