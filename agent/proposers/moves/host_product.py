"""How well a blocking suits a matrix product on a CPU: a rank of ideas, never a time.

Factors in (0, 1], each a loss that Goto and van de Geijn (2008) name for packed, blocked GEMM in the loop order of the
host's generated code: uneven work among cores, edges of the register tile, blocks that leave their cache, sums read
and written again for each K block, A packed again for each block of columns. Their product compares two settings of
the same stage; nothing of it is shown as measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from agent.proposers.moves.factors import Factor, compare, filled, parts
from agent.proposers.moves.move import Scene, size
from kernels.dsl.ir import Stage

_PACK_COST = 12.0
"""Multiply-adds that packing one element costs."""
SUM_COST = 4.0
"""Multiply-adds that one read or write of a sum costs."""
_LOAD_COST = 6.0
"""Multiply-adds that one element of B costs when it comes from beyond L2."""
L1_BYTES = 48 * 2**10
_L2 = 2 * 2**20
"""Bytes a core of a Sapphire Rapids server; L2 where the machine's is not told."""

_PACKED = {1: (0.7, "nothing is packed"), 2: (0.9, "B is packed"), 3: (1.0, "A and B are packed")}
"""Speed of the inner loop by ``stages``, and in words."""


@dataclass(frozen=True, slots=True)
class Blocking:
    """The knobs of a host product that decide its blocking, with its extents."""

    m: int
    n: int
    k: int
    batch: int
    tile: tuple[int, int, int]
    micro: tuple[int, int]
    stages: int
    split: int
    threads: int
    cores: int
    cache: int
    element: int
    lanes: int
    vectors: int

    @classmethod
    def of(cls, scene: Scene, stage: Stage) -> Blocking:
        """The blocking that a stage has now."""
        knobs, attributes = stage.knobs, stage.attributes
        tile_m, tile_n, tile_k = knobs["tile"]
        micro_m, micro_n = knobs["micro"]
        cores = scene.started.cores
        return cls(
            m=int(attributes["m"]),
            n=int(attributes["n"]),
            k=int(attributes["k"]),
            batch=int(attributes.get("batch", 1)),
            tile=(tile_m, tile_n, tile_k),
            micro=(micro_m, micro_n),
            stages=int(knobs["stages"]),
            split=int(knobs["split"]),
            threads=min(int(knobs["threads"]) or cores, cores),
            cores=cores,
            cache=scene.started.l2_bytes or _L2,
            element=stage.operands[1].dtype.bytes,
            lanes=scene.simd.lanes,
            vectors=scene.simd.registers,
        )

    @property
    def registers(self) -> float:
        """Vector registers that the accumulators take."""
        return self.micro[0] * self.micro[1] / self.lanes

    def better(self, **changes: Any) -> tuple[float, str]:
        """Expected gain of other knobs over these, and what speaks for (or against) them in words."""
        return compare(self.factors(), replace(self, **changes).factors())

    def factors(self) -> Iterator[Factor]:
        """Each factor with what it says, in words."""
        yield self._balance()
        share = filled(self.m, self.micro[0]) * filled(self.n, self.micro[1])
        yield share, f"register tiles of {self.micro[0]}×{self.micro[1]} are {share:.0%} filled"
        rows, columns, depth = min(self.tile[0], self.m), min(self.tile[1], self.n), min(self.tile[2], self.k)
        yield _fit(rows * depth * self.element, self.cache, 0.5, f"the A block of {rows}×{depth}", "L2")
        yield _fit(
            self.micro[1] * depth * self.element, L1_BYTES, 0.75, f"a B panel of {depth}×{self.micro[1]}", "L1"
        )
        passes = 2 * parts(self.k, self.tile[2]) - 1
        yield (
            1 / (1 + SUM_COST * passes / self.k),
            f"sums are read and written {passes} times in {self.k} steps of K",
        )
        packing = (_PACK_COST / columns if self.stages == 3 else 0) + (
            _PACK_COST / self.m if self.stages > 1 else 0
        )
        yield 1 / (1 + packing), f"A is read for {_count(parts(self.n, columns), 'block')} of {columns} columns"
        yield 1 / (1 + _LOAD_COST / rows), f"each load of B serves {rows} rows"
        yield self._register_use(), f"accumulators take {self.registers:g} vector registers of {self.vectors}"
        yield 1 / (1 + 0.05 * (self.split - 1)), f"{_count(self.split, 'partial sum')} to add up"
        yield _PACKED[self.stages]

    def _balance(self) -> Factor:
        """Threads share whole products (batch and split) in groups, and a group the register tiles of a block."""
        items = self.batch * self.split
        groups = min(items, self.threads)
        members = max(1, self.threads // groups)
        rows, columns = parts(self.m, self.micro[0]), parts(min(self.tile[1], self.n), self.micro[1])
        largest = min(
            parts(rows, members // across) * parts(columns, across)
            for across in range(1, members + 1)
            if members % across == 0
        )
        busy = rows * columns / (largest * members) * items / (parts(items, groups) * groups)
        busy *= groups * members / self.cores
        words = f"{items * rows * columns} register tiles a block keep {self.cores} cores busy for {busy:.0%}"
        return min(busy, 1.0), words

    def _register_use(self) -> float:
        """Multiply-adds over multiply-adds and loads of one register tile, low where the tile spills."""
        loads = self.micro[1] / self.lanes
        spill = 1.0 if self.registers + loads + 1 <= self.vectors else 0.5
        return spill * self.registers / (self.registers + loads + 0.5 * self.micro[0])


def _fit(taken: int, cache: int, wanted: float, what: str, level: str) -> Factor:
    share = taken / cache
    factor = 1.0 if share <= wanted else (wanted / share) ** 0.25
    return factor, f"{what} is {size(taken)}, {share:.2g} of {level}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
