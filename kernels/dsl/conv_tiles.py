"""Tiles of the plain FP32 convolution kernel that all cards share."""

from __future__ import annotations

from typing import Any

SIMT_SIDES = (16, 32, 64, 128, 256)
SIMT_DEPTHS = (4, 8, 16, 32)
SIMT_TILES = (4096, 8192, 16384)
SIMT_LEGAL = "m and n of 16, 32, 64, 128 or 256 with m·n = 4,096, 8,192 or 16,384, and k of 4, 8, 16 or 32"
"""Tiles of the plain FP32 kernel: m rows (pixels) and n columns (filters) shared by 256 threads."""
_BLOCKS = 132
"""Multiprocessors of the H100 and H200 SXM cards."""


def simt_tile(attributes: dict[str, Any]) -> list[int]:
    """The tile of the plain FP32 kernel: as wide as a group has filters, and no wider."""
    filters = attributes["filters"] // attributes["groups"]
    pixels = attributes["batch"]
    for extent in attributes["output"]:
        pixels *= extent
    for rows, columns in ((256, 16), (128, 32), (128, 64)):
        if filters <= columns:
            return [rows, columns, 8]
    blocks = -(-pixels // 128) * -(-filters // 128) * attributes["groups"]
    return [128, 128, 8] if blocks >= _BLOCKS else [64, 64, 16]
