"""How well a tile suits a matrix product on an Ampere card: a rank of ideas, never a time.

Factors in (0, 1]: whole waves of tiles over the SMs, filled edges, tiles large enough for the traffic between L2 and
shared memory, and warps' parts large enough for that between shared memory and registers. Their product compares two
settings of the same stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from agent.proposers.moves.factors import Factor, compare, parts
from agent.proposers.moves.move import Scene
from kernels.dsl.ir import Stage
from kernels.dsl.sm80_defaults import warps_of
from kernels.targets import Target

SMS = 108
"""A100; ranks ideas only."""
_BALANCE = 24.0
"""A quarter of the side of a square tile over which L2 traffic hides behind the tensor cores."""
_WARP_BALANCE = 8.0
"""The same of a warp's part, whose operands come from shared memory."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """The knobs of an Ampere card's product that decide its grid, with its extents."""

    m: int
    n: int
    k: int
    batch: int
    tile: tuple[int, int, int]
    warps: tuple[int, int]
    split: int
    streams: bool

    @classmethod
    def of(cls, stage: Stage) -> Tiling:
        """The tiling that a stage has now."""
        tile_m, tile_n, tile_k = stage.knobs["tile"]
        down, across = stage.knobs["warps"]
        attributes = stage.attributes
        return cls(
            m=int(attributes["m"]),
            n=int(attributes["n"]),
            k=int(attributes["k"]),
            batch=int(attributes.get("batch", 1)),
            tile=(tile_m, tile_n, tile_k),
            warps=(down, across),
            split=int(stage.knobs.get("split", 1)),
            streams=stage.knobs.get("schedule") == "streamk",
        )

    @property
    def tiles(self) -> int:
        """Blocks of the grid."""
        return self.batch * parts(self.m, self.tile[0]) * parts(self.n, self.tile[1]) * self.split

    def factors(self) -> Iterator[Factor]:
        """Each factor with what it says, in words."""
        waves = parts(self.tiles, SMS)
        full = self.tiles / (waves * SMS)
        # Stream-K shares the last wave out, for a pass that adds the parts.
        yield (
            max(full, 0.9) if self.streams else full,
            f"{self.tiles} blocks are {waves} waves on {SMS} SMs, {full:.0%} full",
        )
        covered = self.batch * self.m * self.n * self.split / (self.tiles * self.tile[0] * self.tile[1])
        yield covered, f"{covered:.0%} of the tiles' area is result"
        yield _sides(self.tile[0], self.tile[1], _BALANCE, "a tile covers {}×{} of the result")
        height, width = self.tile[0] // self.warps[0], self.tile[1] // self.warps[1]
        yield _sides(height, width, _WARP_BALANCE, "a warp multiplies {}×{} from shared memory")
        yield 1 / (1 + 0.02 * (self.split - 1)), f"{self.split} partial sum(s) to add up"

    def better(self, **changes: Any) -> tuple[float, str]:
        """Expected gain of other knobs over these, and what speaks for (or against) them in words."""
        if "tile" in changes and "warps" not in changes:
            changes["warps"] = tuple(warps_of(list(changes["tile"])))
        return compare(self.factors(), replace(self, **changes).factors())


def on_ampere(scene: Scene) -> Iterator[Stage]:
    """The products that run on tensor cores of an sm_80 card."""
    if scene.started.target is Target.SM80:
        yield from (stage for stage in scene.stages("gemm", "bmm") if stage.knobs.get("math") != "f32")


def _sides(rows: int, columns: int, balance: float, words: str) -> Factor:
    side = 2 * rows * columns / (rows + columns)
    return side / (side + balance), words.format(rows, columns)
