"""Host: other blocks and register tiles for a convolution: how many pixels and channels at once, how many sums.

The factors rank ideas as those of ``host_product`` do; the loops are the direct ones of the host's convolutions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from agent.proposers.moves.factors import Factor, compare, filled, parts
from agent.proposers.moves.host_product import L1_BYTES, SUM_COST
from agent.proposers.moves.move import Move, Scene, knob_move, size
from kernels.dsl.ir import Stage
from kernels.targets import Target

_PIXELS = (64, 128, 256, 512, 1024, 2048)
_ROWS = (2, 4, 6, 8, 10, 12, 14, 16, 24)
_VECTORS = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class _Block:
    """``rows`` by ``columns`` sums, over ``channels`` of ``taps`` products each."""

    rows: int
    columns: int
    channels: int
    taps: int
    tile: tuple[int, int]
    micro: tuple[int, int]
    lanes: int
    registers: int
    element: int

    @classmethod
    def of(cls, scene: Scene, stage: Stage) -> _Block:
        attributes, knobs = stage.attributes, stage.knobs
        groups = int(attributes["groups"])
        pixels = int(attributes["batch"]) * math.prod(attributes["output"])
        sides = int(attributes["filters"]) // groups, pixels
        if knobs["layout"] == "channels_last":
            sides = sides[::-1]
        return cls(
            rows=sides[0],
            columns=sides[1],
            channels=int(attributes["channels"]) // groups,
            taps=math.prod(attributes["kernel"]),
            tile=(int(knobs["tile"][0]), int(knobs["tile"][1])),
            micro=(int(knobs["micro"][0]), int(knobs["micro"][1])),
            lanes=scene.simd.lanes,
            registers=scene.simd.registers,
            element=stage.operands[1].dtype.bytes,
        )

    def better(self, **changes: Any) -> tuple[float, str]:
        """Expected gain of other knobs over these, and why, in words."""
        return compare(self._factors(), replace(self, **changes)._factors())

    def _factors(self) -> Iterator[Factor]:
        rows, columns = self.micro
        share = filled(self.rows, rows) * filled(self.columns, columns)
        yield share, f"register tiles of {rows}×{columns} are {share:.0%} filled"
        sums, loads = rows * columns / self.lanes, columns / self.lanes
        spill = 1.0 if sums + loads + 1 <= self.registers else 0.5
        use = spill * sums / (sums + loads + 0.5 * rows)
        yield use, f"sums take {sums:g} vector registers of {self.registers}"
        channels = min(self.tile[1], self.channels)
        weights = rows * channels * self.taps * self.element
        yield (
            (1.0 if weights <= L1_BYTES else (L1_BYTES / weights) ** 0.25),
            f"weights of a register tile are {size(weights)}",
        )
        passes = 2 * parts(self.channels, channels) - 1
        words = f"sums are read and written {passes} times in {self.channels * self.taps} products"
        yield 1 / (1 + SUM_COST * passes / (self.channels * self.taps)), words


def moves(scene: Scene) -> Iterator[Move]:
    """Blocks of more and fewer pixels and channels, and the register tiles that this machine's vectors fill."""
    if scene.started.target is not Target.HOST:
        return
    for stage in scene.stages("conv"):
        now = _Block.of(scene, stage)
        for tile in dict.fromkeys(_tiles(now)):
            if tile != now.tile:
                gain, words = now.better(tile=tile)
                yield knob_move(stage, "tile", tile, words, gain=gain, relieves="compute")
        for micro in ((rows, vectors * now.lanes) for vectors in _VECTORS for rows in _ROWS):
            if micro != now.micro:
                gain, words = now.better(micro=micro)
                yield knob_move(
                    stage, "micro", micro, words, gain=gain, relieves="compute", implementation_risk=1.05,
                    performance_risk=1.3,
                )  # fmt: skip


def _tiles(now: _Block) -> Iterator[tuple[int, int]]:
    pixels, channels = now.tile
    for other in _PIXELS:
        yield other, channels
    for share in (now.channels, channels * 2, channels // 2, channels // 4):
        yield pixels, max(1, min(share, now.channels))
