"""Cards: other tiles for the plain FP32 kernels of products and convolutions, on the CUDA cores."""

from __future__ import annotations

import math
from collections.abc import Iterator

from agent.proposers.moves.factors import Factor, compare, filled, parts
from agent.proposers.moves.move import Move, Scene, knob_move
from agent.proposers.moves.sm90_product import SMS
from kernels.dsl.ir import Stage
from kernels.targets import Target

_TILES = (
    (64, 64, 16),
    (128, 64, 8),
    (64, 128, 8),
    (128, 128, 8),
    (128, 128, 16),
    (256, 64, 8),
    (32, 128, 16),
    (128, 32, 16),
)


def moves(scene: Scene) -> Iterator[Move]:
    """The usual tiles; a convolution of each channel by itself has none."""
    if scene.started.target is Target.HOST:
        return
    for stage in scene.stages("gemm", "bmm", "conv"):
        depthwise = stage.op == "conv" and stage.attributes["groups"] == stage.attributes["channels"] > 1
        if stage.knobs["math"] != "f32" or depthwise:
            continue
        now = (int(stage.knobs["tile"][0]), int(stage.knobs["tile"][1]), int(stage.knobs["tile"][2]))
        for tile in _TILES:
            if tile != now:
                gain, words = compare(_factors(stage, now), _factors(stage, tile))
                yield knob_move(stage, "tile", tile, words, gain=gain, relieves="compute")


def _factors(stage: Stage, tile: tuple[int, int, int]) -> Iterator[Factor]:
    """Each a loss in (0, 1], with words."""
    m, n, products = _sides(stage)
    rows, columns = parts(m, tile[0]), parts(n, tile[1])
    share = filled(m, tile[0]) * filled(n, tile[1])
    yield share, f"tiles of {tile[0]}×{tile[1]} are {share:.0%} filled"
    blocks = rows * columns * products
    busy = filled(blocks, SMS)
    yield busy, f"{blocks:,} blocks keep {SMS} multiprocessors busy for {busy:.0%}"
    reuse = tile[0] * tile[1] / (tile[0] + tile[1])
    yield reuse / (reuse + 16), f"each element loaded serves {reuse:.0f} products"


def _sides(stage: Stage) -> tuple[int, int, int]:
    """Rows, columns and number of the products: of a convolution, pixels, filters of a group, and groups."""
    attributes = stage.attributes
    if stage.op == "conv":
        pixels, groups = int(attributes["batch"]) * math.prod(attributes["output"]), int(attributes["groups"])
        return pixels, int(attributes["filters"]) // groups, groups
    return int(attributes["m"]), int(attributes["n"]), int(attributes.get("batch", 1))
