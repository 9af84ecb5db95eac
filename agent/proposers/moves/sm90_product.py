"""How well a tile suits a matrix product on a Hopper card: a rank of ideas, never a time.

Factors in (0, 1]: whole waves of tiles over the SMs, filled edges, and tiles large enough for the traffic between
L2 and shared memory. Their product compares two settings of the same stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from agent.proposers.moves.factors import Factor, compare, parts
from agent.proposers.moves.move import Scene
from kernels.dsl.conv_product import as_product
from kernels.dsl.ir import Stage
from kernels.targets import Target

SMS = 132
"""H100 and H200 SXM; ranks ideas only."""
_BALANCE = 128.0
"""Side of a square tile over which L2 traffic hides behind the tensor cores."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """The knobs of a card's product that decide its grid, with its extents."""

    m: int
    n: int
    batch: int
    tile: tuple[int, int, int]
    cluster: tuple[int, int]
    schedule: str

    @classmethod
    def of(cls, stage: Stage) -> Tiling:
        """The tiling that a stage has now."""
        tile_m, tile_n, tile_k = stage.knobs["tile"]
        cluster_m, cluster_n = stage.knobs["cluster"]
        attributes = stage.attributes
        return cls(
            m=int(attributes["m"]),
            n=int(attributes["n"]),
            batch=int(attributes.get("batch", 1)),
            tile=(tile_m, tile_n, tile_k),
            cluster=(cluster_m, cluster_n),
            schedule=str(stage.knobs["schedule"]),
        )

    @property
    def tiles(self) -> int:
        """Tiles of the grid, rounded up to whole clusters."""
        rows = parts(parts(self.m, self.tile[0]), self.cluster[0]) * self.cluster[0]
        columns = parts(parts(self.n, self.tile[1]), self.cluster[1]) * self.cluster[1]
        return self.batch * rows * columns

    def factors(self) -> Iterator[Factor]:
        """Each factor with what it says, in words."""
        waves = parts(self.tiles, SMS)
        full = self.tiles / (waves * SMS)
        # Stream-K shares the last wave out, for a pass that adds the parts.
        yield (
            max(full, 0.9) if self.schedule == "streamk" else full,
            f"{self.tiles} tiles are {waves} waves on {SMS} SMs, {full:.0%} full",
        )
        covered = self.batch * self.m * self.n / (self.tiles * self.tile[0] * self.tile[1])
        yield covered, f"{covered:.0%} of the tiles' area is result"
        # Tiles of one cluster row or column share their operand by multicast.
        rows, columns = self.tile[0] * self.cluster[0], self.tile[1] * self.cluster[1]
        side = 2 * rows * columns / (rows + columns)
        yield side / (side + _BALANCE / 4), f"a cluster covers {rows}×{columns} of the result"

    def better(self, **changes: Any) -> tuple[float, str]:
        """Expected gain of other knobs over these, and what speaks for (or against) them in words."""
        return compare(self.factors(), replace(self, **changes).factors())


def on_card(scene: Scene) -> Iterator[Stage]:
    """The products that run on tensor cores of an sm_90a card; a convolution as the product that it is there."""
    if scene.started.target is not Target.SM90A:
        return
    for stage in scene.stages("gemm", "bmm", "conv"):
        product = as_product(stage) if stage.op == "conv" else stage
        if product is not None and stage.knobs.get("math") != "f32":
            yield product
