"""conv and conv_transpose on the CUDA cores: an implicit product with FP32 sums, for any layout, groups and dilation.

Rows of the product are the pixels of the result, columns a group's filters, and its depth runs over channels and taps.
Each block makes one ``.tile`` of it from slices in shared memory; while one slice is multiplied, the next is loaded.
Where a depth lies in x and w is worked out once a block, by its first threads. It reads no other knob of the tensor
cores. Depthwise convolutions, which have a depth of taps alone, are for ``conv_direct``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernels.codegen.cuda.conv_direct import emit_conv_direct
from kernels.codegen.cuda.conv_frame import ConvFrame
from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.frame import stage_code
from kernels.codegen.emission import StageCode
from kernels.dsl.conv_tiles import SIMT_DEPTHS, SIMT_LEGAL, SIMT_SIDES, SIMT_TILES
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign

_THREADS = 256
_PER_THREAD = {64: (8, 8), 32: (8, 4), 16: (4, 4)}
"""Rows and columns of a thread by their product: what 256 threads share of a tile."""

_PARTS = """
constexpr int LoadsX = (Rows * Depth + Threads - 1) / Threads, LoadsW = (Columns * Depth + Threads - 1) / Threads;
constexpr int Far = 1 << 29;  // an element of x that is outside, whatever is added

struct alignas(16) Four {
  float lane[4];
};
// Where one pixel begins in x, and where one depth leads from there; w < 0 marks depths behind the last.
struct Pixel {
  Index x;
  int at[Dims];
};
struct Depths {
  Index x, w;
  int at[Dims];
};

__device__ inline Pixel pixel_of(Index pixel, Index pixels, Axis const* axis, Index first_channel, Sizes const& p) {
  Pixel found{first_channel * Index(p.x_channel), {}};
#pragma unroll
  for (int a = Dims - 1; a >= 0; --a) {
    int at = int(pixel % axis[a].outputs) * axis[a].step_in + axis[a].first_in;
    pixel /= axis[a].outputs;
    found.at[a] = at;
    found.x += at * Index(p.x_step[a]);
  }
  found.x += pixel * Index(p.x_batch);
  if (pixel >= p.batch) { found.at[0] = -Far; }
  return found;
}

__device__ inline Depths depth_of(Index depth, Index taps, Index channels, Axis const* axis, Sizes const& p) {
  Index channel = ChannelsInner ? depth % channels : depth / taps;
  Index tap = ChannelsInner ? depth / channels : depth % taps;
  Depths found{channel * Index(p.x_channel), channel * Index(p.w_channel), {}};
#pragma unroll
  for (int a = Dims - 1; a >= 0; --a) {
    int j = int(tap % axis[a].taps);
    tap /= axis[a].taps;
    found.at[a] = j * axis[a].reach;
    found.x += found.at[a] * Index(p.x_step[a]);
    found.w += (axis[a].first_tap + j * axis[a].step_tap) * Index(p.w_tap[a]);
  }
  if (depth >= taps * channels) { found.w = -1; }
  return found;
}
"""

_BEGIN = """
  __shared__ Four tile_x[2][Depth][Rows / 4 + 1];
  __shared__ Four tile_w[2][Depth][Columns / 4 + 1];
  __shared__ Depths depths[2][Depth];
  __shared__ Axis axis[Dims];
  int64_t z = first_z + blockIdx.z;
  int phase = int(z % p.phases), thread = int(threadIdx.x);
  Index group = Index(z / p.phases), filters = Index(p.filters / p.groups), channels = Index(p.channels / p.groups);
  if (thread == 0) {
    for (int a = Dims - 1; a >= 0; --a) {
      axis[a] = axis_of(p, a, phase % int(p.stride[a]));
      phase /= int(p.stride[a]);
    }
  }
  __syncthreads();
  Index pixels = Index(p.batch), taps = 1;  // of this phase
#pragma unroll
  for (int a = Dims - 1; a >= 0; --a) {
    pixels *= axis[a].outputs;
    taps *= axis[a].taps;
  }
  Index first_pixel = blockIdx.x * Index(Rows), first_filter = blockIdx.y * Index(Columns);
  if (first_pixel >= pixels) { return; }
  w += group * Index(p.w_group);

  // Neighbouring threads load what lies side by side in x: channels of a pixel, or pixels of a channel.
  Pixel pixel[Pixels];
#pragma unroll
  for (int i = 0; i < Pixels; ++i) {
    int load = thread + i * Threads;
    pixel[i] = pixel_of(first_pixel + (ChannelsInner ? load / Depth : load % Rows), pixels, axis, group * channels, p);
  }
  float next_x[LoadsX], next_w[LoadsW], sum[PerRow][PerColumn] = {};
  Index deep = taps * channels, steps = (deep + Depth - 1) / Depth;
"""

_LOOP = """
  auto load = [&](Depths const* slice) {
#pragma unroll
    for (int i = 0; i < LoadsX; ++i) {
      int at = thread + i * Threads;
      Pixel const& from = pixel[ChannelsInner ? i : 0];
      Depths const& depth = slice[(ChannelsInner ? at % Depth : at / Rows) % Depth];
      bool inside = at < Rows * Depth && depth.w >= 0;
#pragma unroll
      for (int a = 0; a < Dims; ++a) { inside = inside && unsigned(from.at[a] + depth.at[a]) < unsigned(p.input[a]); }
      next_x[i] = inside ? float(x[from.x + depth.x]) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < LoadsW; ++i) {
      int at = thread + i * Threads;
      Depths const& depth = slice[at % Depth];
      Index filter = first_filter + at / Depth;
      bool inside = at < Columns * Depth && filter < filters && depth.w >= 0;
      next_w[i] = inside ? float(w[filter * Index(p.w_filter) + depth.w]) : 0.0f;
    }
  };
  auto store = [&](int side) {
#pragma unroll
    for (int i = 0; i < LoadsX; ++i) {
      int at = thread + i * Threads, r = ChannelsInner ? at / Depth : at % Rows;
      int d = ChannelsInner ? at % Depth : at / Rows;
      if (at < Rows * Depth) { tile_x[side][d][r / 4].lane[r % 4] = next_x[i]; }
    }
#pragma unroll
    for (int i = 0; i < LoadsW; ++i) {
      int at = thread + i * Threads, c = at / Depth;
      if (at < Columns * Depth) { tile_w[side][at % Depth][c / 4].lane[c % 4] = next_w[i]; }
    }
  };
  if (thread < Depth && steps > 0) { depths[0][thread] = depth_of(thread, taps, channels, axis, p); }
  __syncthreads();
  if (steps > 0) {
    load(depths[0]);
    store(0);
    if (thread < Depth) { depths[1][thread] = depth_of(Depth + thread, taps, channels, axis, p); }
  }
  __syncthreads();
  for (Index step = 0; step < steps; ++step) {
    int side = int(step % 2);
    bool more = step + 1 < steps;
    if (more) {
      load(depths[1 - side]);
      if (thread < Depth) { depths[side][thread] = depth_of((step + 2) * Depth + thread, taps, channels, axis, p); }
    }
#pragma unroll
    for (int d = 0; d < Depth; ++d) {
      Four left[PerRow / 4], right[PerColumn / 4];
#pragma unroll
      for (int i = 0; i < PerRow / 4; ++i) { left[i] = tile_x[side][d][row + i * (Rows / PerRow)]; }
#pragma unroll
      for (int j = 0; j < PerColumn / 4; ++j) { right[j] = tile_w[side][d][column + j * (Columns / PerColumn)]; }
#pragma unroll
      for (int i = 0; i < PerRow; ++i) {
#pragma unroll
        for (int j = 0; j < PerColumn; ++j) {
          sum[i][j] = fmaf(left[i / 4].lane[i % 4], right[j / 4].lane[j % 4], sum[i][j]);
        }
      }
    }
    if (more) {
      store(1 - side);
      __syncthreads();
    }
  }
#pragma unroll
  for (int i = 0; i < PerRow; ++i) {
    Index image = first_pixel + (row + i / 4 * (Rows / PerRow)) * 4 + i % 4;
    if (image >= pixels) { continue; }
    Index at[Dims];
#pragma unroll
    for (int a = Dims - 1; a >= 0; --a) {
      at[a] = image % axis[a].outputs * axis[a].step_out + axis[a].first_out;
      image /= axis[a].outputs;
    }
#pragma unroll
    for (int j = 0; j < PerColumn; ++j) {
      Index filter = first_filter + (column + j / 4 * (Columns / PerColumn)) * 4 + j % 4;
      if (filter >= filters) { continue; }
      filter += group * filters;
      float acc = sum[i][j];
"""

_LAUNCH = """
  int64_t tiles = (pixels + Rows - 1) / Rows, columns = (filters / groups + Columns - 1) / Columns;
  if (tiles > 2147483647 || columns > 65535) { return 2; }
  // The grid's third extent has a limit of 65,535: more groups and phases than that take more launches.
  for (int64_t first = 0; first < groups * phases; first += 65535) {
    int64_t count = groups * phases - first < 65535 ? groups * phases - first : 65535;
    dim3 grid{unsigned(tiles), unsigned(columns), unsigned(count)};
"""


@dataclass(frozen=True, slots=True)
class _Tile:
    """The tile of a block, and what one of its threads makes of it."""

    rows: int
    columns: int
    depth: int
    per_row: int
    per_column: int


def emit_conv_simt(stage: Stage, source: Assign | None) -> StageCode:
    """Code of one convolution without tensor cores; raises the errors of ``codegen`` and ``cuda``."""
    if stage.attributes["groups"] == stage.attributes["channels"] > 1:
        return emit_conv_direct(stage, source)
    return _ConvEmitter(stage, source).emit()


class _ConvEmitter:
    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.stage = stage
        self.frame = ConvFrame(stage, source)
        self.out = self.frame.out
        self.tile = _tile(stage)
        apart = stage.attributes["stride"] if self.frame.transposed else (1,) * self.frame.dims
        outputs = zip(stage.attributes["output"], apart, strict=True)
        self.frame.size("phases", math.prod(apart))
        # Of the largest phase.
        self.frame.size(
            "pixels", stage.attributes["batch"] * math.prod(-(-extent // step) for extent, step in outputs)
        )

    def emit(self) -> StageCode:
        frame = self.frame
        frame.write_head("FP32 sums")
        self._write_tile()
        frame.write_geometry()
        self._write_kernel()
        self._write_function()
        return stage_code(self.out, self.stage, self.frame.arguments)

    def _write_tile(self) -> None:
        out, tile, origins = self.out, self.tile, self.frame.origins
        inner = self.frame.channels_inner
        out.line(
            f"constexpr int Rows = {tile.rows}, Columns = {tile.columns}, Depth = {tile.depth};",
            origins.note("tile"),
            origins.knob("tile"),
        )
        out.line(f"constexpr int Threads = {_THREADS}, PerRow = {tile.per_row}, PerColumn = {tile.per_column};")
        out.line(f"constexpr bool ChannelsInner = {'true' if inner else 'false'};", "as x lies in memory")
        pixels = -(-tile.rows * tile.depth // _THREADS) if inner else 1
        out.line(f"constexpr int Pixels = {pixels};", "that a thread loads from")

    def _write_kernel(self) -> None:
        out, origins = self.out, self.frame.origins
        out.lines(_PARTS)
        out.line()
        note, mu = origins.note("math"), origins.knob("math")
        out.line("__global__ void __launch_bounds__(Threads, 2) convolution(", note, mu)
        out.line(f"    {self.frame.parameters}, int64_t first_z) {{")
        out.lines(_BEGIN)
        # Neighbouring threads store what lies side by side in the result.
        if self.frame.filters_inner:
            across, sides = "Columns / PerColumn", ("column", "row")
        else:
            across, sides = "Rows / PerRow", ("row", "column")
        out.line(f"  int {sides[0]} = thread % ({across}), {sides[1]} = thread / ({across});")
        out.lines(_LOOP)
        self.frame.write_store("      ")
        out.lines("    }\n  }\n}")

    def _write_function(self) -> None:
        out = self.out
        self.frame.write_function_head()
        out.lines(_LAUNCH)
        out.line("    convolution<<<grid, Threads, 0, static_cast<cudaStream_t>(stream)>>>(")
        out.line(f"        {self.frame.call}, first);")
        out.lines("  }\n  static_cast<void>(workspace);\n  return cudaGetLastError() == cudaSuccess ? 0 : 3;\n}")


def _tile(stage: Stage) -> _Tile:
    """The block's tile; raises KnobWithoutCode where its threads cannot share it."""
    rows, columns, depth = (int(extent) for extent in stage.knobs["tile"])
    sides = rows in SIMT_SIDES and columns in SIMT_SIDES
    if not sides or depth not in SIMT_DEPTHS or rows * columns not in SIMT_TILES:
        found = f"{rows}, {columns}, {depth}"
        raise KnobWithoutCode(stage=stage.name, knob="tile", found=found, legal=f"with math(f32): {SIMT_LEGAL}")
    per_row, per_column = _PER_THREAD[rows * columns // _THREADS]
    return _Tile(rows, columns, depth, per_row, per_column)
