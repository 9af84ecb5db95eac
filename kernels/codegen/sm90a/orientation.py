"""Which way round a product is handed to CUTLASS, and what its mainloop for these layouts asks of the knobs.

wgmma reads f16 and bf16 from shared memory with either side contiguous, and tf32 only K-major. CUTLASS 4.2 has these
mainloops for tf32, by the contiguous sides of A and B:

* K and K: both from shared memory, as for f16.
* M and K: A through registers (``sm90_mma_tma_gmma_rs_warpspecialized.hpp``).
* M and N: the same, with B transposed in shared memory; cooperative and pingpong (``sm90_wgmma_transpose.hpp``).
* K and N: the same header exchanges A and B by itself (``SwapAB``), and the kernel layer then M and N. The results come
  out transposed, which only ``EpilogueTransposed`` undoes (``epilogue/collective/builders/sm90_builder.inl``), and that
  takes no visitor tree: with one, results are written to wrong places.

So K and N never reaches CUTLASS. It is exchanged here, for the whole problem: ``y^T = b^T a^T`` has the sides M and K,
and its y^T, C and broadcasts are the program's with rows and columns exchanged, column-major where those are row-major.
Nothing is copied. Tile, cluster and raster stay as written and belong to the transposed problem, as they would in
CUTLASS's own exchange: the legal m and n of a tile are those that the schedule takes, whichever way round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.layout import Matrix
from kernels.dsl.ir import Stage

T = TypeVar("T")

_TURNED_AT_ONCE = 32
_ROWS_OF_A_GROUP = 8


@dataclass(frozen=True, slots=True)
class Orientation:
    """``transposed`` means CUTLASS is given the product of b's transpose and a's."""

    transposed: bool

    def pair(self, first: T, second: T) -> tuple[T, T]:
        """What belongs to rows and to columns (or to a and to b), in the order that CUTLASS is given them."""
        return (second, first) if self.transposed else (first, second)

    @property
    def row_major(self) -> str:
        """CUTLASS's layout tag of a matrix whose columns lie side by side in the program."""
        return self.tag("row")

    def tag(self, major: str) -> str:
        """CUTLASS's layout tag of a matrix that is ``row`` or ``column`` major in the program."""
        return f"cutlass::layout::{'RowMajor' if (major == 'row') != self.transposed else 'ColumnMajor'}"


def k_major(operand: Matrix, index: int) -> bool:
    """Whether the extent that is summed over lies side by side: columns of a (index 0), rows of b (index 1)."""
    return (operand.major == "row") == (index == 0)


def orient(stage: Stage, operands: tuple[Matrix, ...], tf32: bool) -> Orientation:
    """The orientation for these operands.

    Raises KnobWithoutCode for a number of stages or a tile that the mainloop of these layouts does not take.
    """
    sides = tuple(k_major(operand, index) for index, operand in enumerate(operands))
    if tf32 and not all(sides):
        _check_register_mainloop(stage, both_outer=not any(sides))
    transposed = tf32 and sides == (True, False)
    if transposed or (tf32 and sides == (False, True)):
        _check_shares(stage)
    return Orientation(transposed)


def _check_shares(stage: Stage) -> None:
    """The blocks along a cluster's m load a share each of the second tile, n rows in all.

    Beside an operand that is turned these are whole groups of eight rows, or an equal part of one.
    """
    n, (across, along) = stage.knobs["tile"][1], stage.knobs["cluster"]
    share, rest = divmod(n, across)
    if rest or not share or (share % _ROWS_OF_A_GROUP and _ROWS_OF_A_GROUP % share):
        legal = f"an m that cuts {n}, the tile's n, into equal shares of whole groups of {_ROWS_OF_A_GROUP}"
        _refuse(stage, "cluster", f"{across}, {along}", legal)


def _check_register_mainloop(stage: Stage, both_outer: bool) -> None:
    """What the register mainloop and the transposition assert about the tile, and the builder about stages.

    An M-major A is stored 32 elements of K at a time (other tiles fail with "Stride Divisibility Condition"), and the
    transposition takes just those 128 bytes, in squares.
    """
    m, n, k = stage.knobs["tile"]
    if stage.knobs["stages"]:
        # The builder asks for StageCountAutoCarveout::bytes, which a fixed StageCount has not.
        _refuse(stage, "stages", str(stage.knobs["stages"]), "auto, or K-major operands")
    if both_outer and (k != _TURNED_AT_ONCE or n % _TURNED_AT_ONCE):
        legal = f"a K of {_TURNED_AT_ONCE} and an N that is a multiple of it, or one K-major operand"
        _refuse(stage, "tile", f"{m}, {n}, {k}", legal)
    if k % _TURNED_AT_ONCE:
        _refuse(
            stage, "tile", f"{m}, {n}, {k}", f"a K that is a multiple of {_TURNED_AT_ONCE}, or K-major operands"
        )


def _refuse(stage: Stage, knob: str, found: str, legal: str) -> None:
    raise KnobWithoutCode(stage=stage.name, knob=knob, found=found, legal=legal)
