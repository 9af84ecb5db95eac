"""Large tensors gone through in pieces: on a CPU several that stay in a cache at once, each by one thread.

An operation on so small a piece gains little from several threads, which must meet after each, and on a machine that
has other work they wait for each other far longer than they compute. Runs only in the supervisor (torch on top).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

TILE = 64
"""Rows and columns of a tile; pieces are made of whole ones."""

_PIECE, _CARD_PIECE = 2**18, 2**23
"""Elements: what a core's cache holds several of, and what fills a card without taking much of its memory."""
_MOST_WORKERS = 16

Piece = tuple[slice, slice, slice]
Work = Callable[[Piece], None]


def pieces(shape: torch.Size, most: int = _PIECE) -> Iterator[Piece]:
    """Whole matrices, or whole rows of tiles of one matrix, or whole tiles of one row; about ``most`` elements each."""
    batch, rows, columns = shape
    if 0 in shape:
        return
    at_once = max(1, most // (rows * columns))
    high = rows if rows * columns <= most else min(rows, max(TILE, most // columns // TILE * TILE))
    wide = columns if high * columns <= 2 * most else max(TILE, most // high // TILE * TILE)
    for i in range(0, batch, at_once):
        for j in range(0, rows, high):
            for k in range(0, columns, wide):
                yield slice(i, i + at_once), slice(j, j + high), slice(k, k + wide)


def workers(tensor: Tensor) -> int:
    """How many pieces of a tensor are worth working on at once here; at least 1, and 1 on a card."""
    if tensor.device.type != "cpu":
        return 1
    return max(1, min(len(list(pieces(tensor.shape))), len(os.sched_getaffinity(0)), _MOST_WORKERS))


def in_pieces(tensor: Tensor, works: Sequence[Work]) -> None:
    """Do every piece of a tensor of three dimensions, each of ``works`` its share of them, all at the same time.

    A card's are all done by the first, as ``workers`` has it.
    """
    if tensor.device.type != "cpu":
        _share(works[0], list(pieces(tensor.shape, _CARD_PIECE)))
        return
    todo = list(pieces(tensor.shape))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        if len(works) == 1:
            _share(works[0], todo)
        else:
            # A thread of the pool takes over the number of threads that holds when it first computes: one.
            shares = [_pool().submit(_share, work, todo[i :: len(works)]) for i, work in enumerate(works)]
            for share in shares:
                share.result()
    finally:
        torch.set_num_threads(threads)


def each_piece(tensor: Tensor, work: Work) -> None:
    """``in_pieces`` with work that may be done by several threads at once."""
    in_pieces(tensor, [work] * workers(tensor))


def _share(work: Work, todo: Sequence[Piece]) -> None:
    with torch.no_grad():
        for piece in todo:
            work(piece)


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_WORKERS, thread_name_prefix="pieces")


def add_tiles(tiles: Tensor, piece: Piece, square: Tensor) -> None:
    """Sums of ``square`` over each tile of a piece, put to their place."""
    batch, rows, columns = piece
    sums = _grouped(_grouped(square, 1), 2)
    row, column = rows.start // TILE, columns.start // TILE
    tiles[batch, row : row + sums.shape[1], column : column + sums.shape[2]] = sums


def _grouped(tensor: Tensor, dim: int) -> Tensor:
    """Sums over each 64 elements of a dimension; the last group may have fewer."""
    size = tensor.shape[dim]
    whole = size // TILE * TILE
    parts = []
    if whole:
        parts.append(tensor.narrow(dim, 0, whole).unflatten(dim, (-1, TILE)).sum(dim + 1))
    if whole < size:
        parts.append(tensor.narrow(dim, whole, size - whole).sum(dim, keepdim=True))
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim)
