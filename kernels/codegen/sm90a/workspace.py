"""How much workspace a stream-K gemm may ask for, computed without a card."""

from __future__ import annotations

from kernels.codegen.sm90a.orientation import Orientation
from kernels.dsl.ir import Stage

_ALIGNMENT = 128
_SLACK = 4 * _ALIGNMENT


def stream_k_bytes(stage: Stage, orientation: Orientation) -> int:
    """An upper bound in bytes, whatever the card's number of SMs.

    From CUTLASS 4.2, ``PersistentTileSchedulerSm90StreamKParams::get_workspace_component_sizes``: at most every output
    tile is split, and then needs one tile of accumulators and one 32-bit barrier a consumer warp group (two). Tiles are
    rounded up to whole clusters and whole swizzle blocks. The function checks the bound again when it runs.
    """
    tile_m, tile_n, _ = stage.knobs["tile"]
    cluster_m, cluster_n = stage.knobs["cluster"]
    swizzle = max(1, int(stage.knobs["swizzle"]))
    *batch, m, n = stage.result.shape
    rows, columns = orientation.pair(m, n)
    tiles: int = _tiles(rows, tile_m, cluster_m * swizzle) * _tiles(columns, tile_n, cluster_n * swizzle)
    for extent in batch:
        tiles *= extent
    bytes_a_tile = int(tile_m) * int(tile_n) * 4 + 2 * 4
    return tiles * bytes_a_tile + _SLACK


def _tiles(extent: int, tile: int, group: int) -> int:
    count = -(-extent // tile)
    return -(-count // group) * group
