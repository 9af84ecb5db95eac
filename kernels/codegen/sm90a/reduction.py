"""A product's reduction in its epilogue: partial results, one a tile, in the workspace, and a kernel that joins them.

CUTLASS's nodes reduce one tile each (``sm90_visitor_store_tma_warpspecialized.hpp``; elements outside the product do
not count). Tiles are joined here, in an order that the sizes fix, so that the same bits come out every time; CUTLASS's
own joining is by atomics, or by whichever tile ends last. The product itself is not stored.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.cuda.frame import EARLY, WAIT
from kernels.codegen.cuda.layout import CUTLASS_TYPES, type_name
from kernels.codegen.cuda.writer import SourceWriter
from kernels.codegen.sm90a.orientation import Orientation
from kernels.dsl.ir import Reduction, Stage

ALIGNMENT = 128
"""Bytes that the partial results begin at a multiple of."""
_PARTIAL_BYTES = 4
_JOIN = {
    "sum": ("plus", "0.0f"),
    "mean": ("plus", "0.0f"),
    "max": ("maximum_with_nan_propagation", "-INFINITY"),
    "min": ("minimum_with_nan_propagation", "INFINITY"),
}
"""By kind: CUTLASS's functor, and what changes nothing."""


@dataclass(frozen=True, slots=True)
class Joining:
    """``kept`` is the extent (``m`` or ``n``) that the result has, ``summed`` the one that goes, each with its side of
    the tile; ``node`` is ``Col`` where CUTLASS's columns go."""

    stage: Stage
    reduction: Reduction
    node: str
    kept: str
    summed: str
    kept_tile: int
    summed_tile: int

    @property
    def bytes(self) -> int:
        """Of all partial results: f32[batch, tiles along the summed extent, the kept extent in whole tiles]."""
        sizes = self.stage.attributes
        padded = -(-int(sizes[self.kept]) // self.kept_tile) * self.kept_tile
        tiles = -(-int(sizes[self.summed]) // self.summed_tile)
        return int(sizes.get("batch", 1)) * tiles * padded * _PARTIAL_BYTES

    @property
    def _mean(self) -> bool:
        return self.reduction.kind == "mean"

    def write_join(self, out: SourceWriter) -> None:
        """``Join``, of two numbers or of arrays, and ``Nothing``."""
        functor, identity = _JOIN[self.reduction.kind]
        out.line("template <class T>")
        out.line(f"using Join = cutlass::{functor}<T>;", f">> {self.reduction.text}", self.reduction.span.line)
        out.line(f"constexpr float Nothing = {identity};", "joined with it, a number stays as it is")

    def write_types(self, out: SourceWriter, product: str) -> None:
        """``Reduced``: the tree whose root reduces what the node ``product`` gives."""
        mu = self.reduction.span.line
        along = "_1, _0, _0" if self.node == "Col" else "_0, _1, _0"
        self.write_join(out)
        out.line("using Partials = fusion::Sm90EVT<", f"one a tile, for each of {self.kept} results", mu)
        out.line(f"    fusion::Sm90{self.node}Reduction<Join, Join, Join, 0, Tile, float, float, Round,", mu=mu)
        out.line(f"        Stride<{along}>, 4, false, false>,", mu=mu)
        out.line(f"    {product}>;", mu=mu)
        out.line("struct Reduced : Partials {")
        out.line("  using ElementAux = float;", "of the shared memory in which warps meet: D is void")
        out.lines("  using Partials::Partials;\n};")

    def write_kernel(self, out: SourceWriter) -> None:
        """The kernel that joins tiles."""
        result = type_name(self.stage.name, self.stage.result, CUTLASS_TYPES, "a gemm's result")
        out.line(f"using Result = {result};")
        out.lines(_KERNEL.replace("@WAIT@", WAIT).replace("@MEAN@", " / p.summed" if self._mean else ""))
        out.line()

    def write_partials(self, out: SourceWriter, product: str) -> str:
        """Where the partial results go; gives the name of the tree's arguments, ``product`` being those below it."""
        out.line("  float* partials = reinterpret_cast<float*>(static_cast<char*>(workspace) + offset_partials);")
        out.line("  typename Reduced::Arguments reduced_arguments{", f">> {self.reduction.text}")
        out.line(f"      {product}, {{partials, Nothing, {{}}}}}};")
        return "reduced_arguments"

    def write_launch(self, out: SourceWriter) -> None:
        """The launch of the kernel, behind the product's."""
        batch = "batch * " if "batch" in self.stage.attributes else ""
        whole, tiles = self.kept_tile, self.summed_tile
        out.line("  Joining p{", f">> {self.reduction.text}", self.reduction.span.line)
        out.line(f"      {batch}{self.kept}, {self.kept}, ({self.kept} + {whole - 1}) / {whole} * {whole},")
        out.line(f"      ({self.summed} + {tiles - 1}) / {tiles}, float({self.summed})}};")
        out.lines(EARLY)
        out.lines("""
  how.gridDim = dim3(unsigned((p.all + 31) / 32));
  how.blockDim = 32 * Shares;
  cudaLaunchKernelEx(&how, join_tiles, partials, static_cast<Result*>(y), p);
  return cudaGetLastError() == cudaSuccess ? 0 : 3;
}""")


_KERNEL = """
// ``all`` results, ``kept`` for each matrix; a tile's partial results follow those of the tile before it at ``padded``.
struct Joining {
  int64_t all, kept, padded, tiles;
  float summed;
};
constexpr int Shares = 8;

// A lane takes one result, a warp every eighth tile; the warps' shares are then joined in their order.
__global__ void __launch_bounds__(32 * Shares) join_tiles(float const* partials, Result* y, Joining p) {
@WAIT@
  __shared__ float shares[Shares][32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int64_t i = blockIdx.x * int64_t(32) + lane;
  float value = Nothing;
  if (i < p.all) {
    float const* from = partials + i / p.kept * p.tiles * p.padded + i % p.kept;
#pragma unroll 4
    for (int64_t tile = warp; tile < p.tiles; tile += Shares) {
      value = Join<float>{}(value, from[tile * p.padded]);
    }
  }
  shares[warp][lane] = value;
  __syncthreads();
  if (warp == 0 && i < p.all) {
    for (int other = 1; other < Shares; ++other) { value = Join<float>{}(value, shares[other][lane]); }
    y[i] = static_cast<Result>(value@MEAN@);
  }
}
"""


def plan_joining(stage: Stage, orientation: Orientation) -> Joining | None:
    """What the stage's reduction needs; None for a stage without one."""
    reduction = stage.reduction
    if reduction is None:
        return None
    # The product's own rank: its result has lost a dimension, or has 1 there.
    columns_go = reduction.axis == len(stage.operands[0].shape) - 1
    kept, summed = ("m", "n") if columns_go else ("n", "m")
    tile = dict(zip(orientation.pair("m", "n"), stage.knobs["tile"][:2], strict=True))
    node = "Col" if columns_go != orientation.transposed else "Row"
    return Joining(stage, reduction, node, kept, summed, int(tile[kept]), int(tile[summed]))
