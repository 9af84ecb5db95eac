"""How much scratch memory a host GEMM takes. ``mu/gemm.h`` lays it out by the same sums; change both or neither."""

from __future__ import annotations

from dataclasses import dataclass

MAX_THREADS = 64
"""``mu::max_threads``: the most threads a kernel ever takes."""

_LINE = 64


@dataclass(frozen=True, slots=True)
class GemmShape:
    """Sizes and knobs that decide it. ``element`` is the bytes of the computing type; ``threads`` 0 means auto."""

    batch: int
    m: int
    n: int
    k: int
    tile: tuple[int, int, int]
    micro: tuple[int, int]
    split: int
    threads: int
    element: int
    pack_a: bool
    pack_b: bool
    sums_in_result: bool
    reduced: str = ""
    """``columns`` or ``rows`` where an epilogue reduces over them: a partial result a register tile."""


def workspace_bytes(shape: GemmShape) -> int:
    """Bytes for the most threads that may run.

    Partial sums, partial results of a reduction, a block of B a group, a block of A a thread.
    """
    slack = _LINE // shape.element
    (tile_m, tile_n, tile_k), (micro_m, micro_n) = shape.tile, shape.micro
    items = shape.batch * shape.split
    pieces = items * _panels(shape.m, micro_m) * _panels(shape.n, micro_n)
    threads = max(1, min(shape.threads or MAX_THREADS, MAX_THREADS, pieces))
    depth = min(tile_k, shape.k)
    elements = 0
    if not shape.sums_in_result and (shape.split > 1 or shape.k > tile_k):
        elements += _padded(items * shape.m * shape.n, slack)
    if shape.reduced:
        across, down = _panels(shape.n, micro_n) * shape.m, _panels(shape.m, micro_m) * shape.n
        elements += _padded(shape.batch * (across if shape.reduced == "columns" else down), slack)
    if shape.pack_b:
        elements += _padded(_padded(min(tile_n, shape.n), micro_n) * depth, slack) * min(items, threads)
    if shape.pack_a:
        elements += _padded(_padded(min(tile_m, shape.m), micro_m) * depth, slack) * threads
    # The kernel moves the start up to a cache line.
    return elements * shape.element + _LINE if elements else 0


def _panels(extent: int, width: int) -> int:
    return -(-extent // width)


def _padded(extent: int, width: int) -> int:
    return _panels(extent, width) * width
