"""How much workspace a gemm asks for whose K is divided among blocks, computed without a card."""

from __future__ import annotations

from kernels.dsl.ir import Stage
from kernels.dsl.sm80_resources import blocks_an_sm

_LINE = 128
_SMS = 160
"""More multiprocessors than any Ampere, Ada or Hopper card has."""


def divided_bytes(stage: Stage) -> int:
    """An upper bound in bytes, 0 where each tile is one block's.

    From CUTLASS 4.2, ``GemmWithEpilogueVisitorStreamk::Params``: a 32-bit flag a block that has a part of a tile, and
    the sums of two tiles, since such a block may end one and begin another (``epilogue_base_streamk.h``). With
    ``split`` these are all blocks (``ThreadblockSwizzleStreamK``); stream-K has at most those that the card holds at
    once. A reduction block a fragment of a tile has a flag too, and a tile has no more fragments than rows. The
    function checks the bound again when it runs.
    """
    tile_m, tile_n, tile_k = (int(extent) for extent in stage.knobs["tile"])
    m, n, k = (int(stage.attributes[name]) for name in "mnk")
    tiles = -(-m // tile_m) * -(-n // tile_n)
    split, streams = int(stage.knobs.get("split", 1)), stage.knobs.get("schedule") == "streamk"
    if split == 1 and not streams:
        return 0
    parts = tiles * -(-k // tile_k)
    blocks = min(parts, tiles * split if split > 1 else _SMS * blocks_an_sm(stage))
    sums = 2 * tile_m * tile_n * int(stage.attributes["acc"].bytes)
    flags = max(blocks, tiles * tile_m) * 4
    return -(-blocks * sums // _LINE) * _LINE + -(-flags // _LINE) * _LINE
