"""Host: other cache blocks for a product: each side doubled or halved, and a few shapes known to do well."""

from __future__ import annotations

from collections.abc import Iterator

from agent.proposers.moves.host_product import Blocking
from agent.proposers.moves.move import Move, Scene, knob_move
from kernels.dsl.ir import Stage
from kernels.targets import Target

_SHAPES = (
    (1, 4, 256),
    (4, 4, 256),
    (8, 8, 256),
    (8, 16, 256),
    (8, 16, 512),
    (16, 8, 256),
    (16, 32, 384),
    (32, 8, 512),
)
"""Register tiles along M and along N, and K."""


def moves(scene: Scene) -> Iterator[Move]:
    """Tiles in whole register tiles, no larger than the product needs."""
    if scene.started.target is not Target.HOST:
        return
    for stage in scene.stages("gemm", "bmm"):
        now = Blocking.of(scene, stage)
        for tile in dict.fromkeys(_tiles(now)):
            if tile != now.tile:
                yield _move(stage, now, tile)


def _tiles(now: Blocking) -> Iterator[tuple[int, int, int]]:
    m, n, k = now.tile
    for scale in (2.0, 0.5):
        yield _rounded(now, m * scale, n, k)
        yield _rounded(now, m, n * scale, k)
        yield _rounded(now, m, n, k * scale)
    for rows, columns, depth in _SHAPES:
        yield _rounded(now, rows * now.micro[0], columns * now.micro[1], depth)
    # All columns, all of K, and an A block of a quarter of L2.
    yield _rounded(now, m, now.n, k)
    yield _rounded(now, m, n, now.k)
    yield _rounded(now, now.cache / 4 / (now.element * k), n, k)


def _rounded(now: Blocking, m: float, n: float, k: float) -> tuple[int, int, int]:
    def up(extent: float, part: int, limit: int) -> int:
        wanted = min(extent, limit)
        return max(1, -(-int(wanted) // part)) * part

    return up(m, now.micro[0], now.m), up(n, now.micro[1], now.n), up(k, 8, now.k)


def _move(stage: Stage, now: Blocking, tile: tuple[int, int, int]) -> Move:
    gain, words = now.better(tile=tile)
    return knob_move(stage, "tile", tile, words, gain=gain, relieves="compute")
