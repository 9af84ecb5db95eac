"""Knobs of convolutions on sm_90a that a program left out.

As ``defaults``: starting points for a search, good for any size. A convolution goes to the tensor cores where
``conv_rules`` finds nothing against it and the policy allows it, else to the plain FP32 kernel, so that one without
any knob is always legal.
"""

from __future__ import annotations

import math
from typing import Any

from kernels.dsl.conv import ConvWork
from kernels.dsl.conv_product import READ_BYTES, STEP_BYTES, copied, depth_channels, joined_taps
from kernels.dsl.conv_rules import Plan, obstacles
from kernels.dsl.conv_tiles import simt_tile
from kernels.dsl.ir import ChainStep
from kernels.dsl.knobs import KnobData
from kernels.dtypes import DType
from kernels.targets import Policy

_BLOCKS = 66
"""Half the multiprocessors of an H100: a tile that gives fewer blocks than that is too large."""
_MOST_OF_A_GROUP = 128 * 128
"""Sums that one warp group holds: 128 a thread."""
_SHORT = 64
"""Steps of the depth, of 128 bytes each, up to which an epilogue is a large part of a tile's time."""
_VERY_SHORT = 4
"""Steps up to which the filters' loads are as large a part: a tile of twice the pixels shares them, and so do two."""
_MANY = 16 * 132
"""Tiles of pixels of which one more, that makes them even, does not matter."""


def sm90a_conv(
    work: ConvWork, written: dict[str, KnobData], policy: Policy, chain: tuple[ChainStep, ...]
) -> dict[str, Any]:
    """Every knob of a convolution on sm_90a."""
    out = str(written.get("out", work.x.dtype))
    word = str(written.get("math", _math(work, written, policy, chain, out)))
    knobs: dict[str, Any] = {
        "cluster": [1, 1], "schedule": "auto", "stages": 0, "swizzle": 0, "raster": "auto", "math": word,
        "acc": "f32", "out": out, "layout": _layout(work, word),
    }  # fmt: skip
    if word not in READ_BYTES:
        # Other element types are refused by their name, whatever their knobs.
        return knobs | {"tile": simt_tile(work.attributes)} | written
    tile = written.get("tile", _tile(work, word))
    assert isinstance(tile, list)
    knobs |= {"tile": tile, "cluster": _cluster(work, tile)} | written
    if knobs["schedule"] == "auto":
        knobs["schedule"] = _schedule(work, word, tile)
    return knobs


def _math(
    work: ConvWork, written: dict[str, KnobData], policy: Policy, chain: tuple[ChainStep, ...], out: str
) -> str:
    word = str(work.x.dtype)
    if word == "f32":
        if policy is Policy.STRICT:
            return "f32"
        word = "tf32"
    if word not in READ_BYTES:
        return word
    layout = str(written.get("layout", "channels_last"))
    plan = Plan("", work.x, work.weight, work.attributes, word, DType(out), layout, chain)
    return "f32" if obstacles(plan) else word


def _layout(work: ConvWork, word: str) -> str:
    """As x lies; the tensor cores write channels last, whatever x was copied from."""
    x = work.x
    innermost = x.channels_last and (word != "f32" or not x.contiguous)
    return "channels_last" if innermost or copied(word, x) else "row_major"


def _tile(work: ConvWork, word: str) -> list[int]:
    """The largest tile that still fills the card; 128 bytes of channels, or all of them where they are fewer."""
    filters, pixels = work.attributes["filters"], _pixels(work)
    least, most = 32 // READ_BYTES[word], STEP_BYTES // READ_BYTES[word]
    depth = min(most, max(least, -(-_channels(work, word)[0] // least) * least))
    # A depth of 96 bytes has no layout in shared memory.
    depth = next(each for each in (least, 2 * least, most) if each >= depth)
    channels, taps = _channels(work, word)
    if taps * -(-channels // depth) <= _VERY_SHORT and 64 < filters <= 128 and pixels >= 256 * _MANY:
        return [256, 128, depth]
    for rows, columns in ((128, 256), (128, 128), (128, 64)):
        if -(-pixels // rows) * -(-filters // columns) >= _BLOCKS and (filters > columns // 2 or columns == 64):
            return [rows, columns, depth]
    return [64, 64, depth]


def _channels(work: ConvWork, word: str) -> tuple[int, int]:
    """Channels as the loads see them, and how many taps have that many."""
    joined = joined_taps(work.attributes, word, work.x, work.weight)
    taps = math.prod(work.attributes["kernel"]) // joined
    return joined * depth_channels(work.attributes, word, work.x), taps


def _schedule(work: ConvWork, word: str, tile: list[int]) -> str:
    """Pingpong hides the epilogue of a short sum behind the next tile, where one warp group can hold a whole tile."""
    rows, columns, depth = tile
    channels, taps = _channels(work, word)
    steps = taps * -(-channels // depth)
    short = rows * columns <= _MOST_OF_A_GROUP and steps <= _SHORT
    return "pingpong" if rows % 128 or short else "cooperative"


def _cluster(work: ConvWork, tile: list[int]) -> list[int]:
    """Two tiles of pixels share the filters' loads where they come in pairs, or nearly."""
    rows = -(-_pixels(work) // tile[0])
    return [2, 1] if (rows % 2 == 0 or rows > _MANY) and tile[1] % 64 == 0 else [1, 1]


def _pixels(work: ConvWork) -> int:
    return int(work.attributes["batch"] * math.prod(work.attributes["output"]))
