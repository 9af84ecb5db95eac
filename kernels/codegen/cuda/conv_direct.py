"""Depthwise conv and conv_transpose: each thread makes elements of the result from the taps of their one channel.

Neighbouring threads make neighbouring elements in memory, so that a result in the layout of x reads and writes whole
lines; a block covers a patch of the result's two innermost dimensions, so that overlapping windows meet in the cache.
There is nothing to share between filters, and so no tile: the knob is not read.
"""

from __future__ import annotations

from kernels.codegen.cuda.conv_frame import ConvFrame
from kernels.codegen.cuda.frame import stage_code
from kernels.codegen.emission import StageCode
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign

_THREADS = 256
_MOST_LANES = 4

_PLACE = """
    Axis axis[Dims];
    int from[Dims];
#pragma unroll
    for (int a = 0; a < Dims; ++a) {
      int stride = int(p.stride[a]), place = int(at[a]);
      axis[a] = axis_of(p, a, (place + int(p.padding[a])) % stride);
      from[a] = (place - axis[a].first_out) / axis[a].step_out * axis[a].step_in + axis[a].first_in;
    }
    Index channel = filter / Index(p.filters / p.groups);
    Index first_x = image * Index(p.x_batch) + channel * Index(p.x_channel);
    Index first_w = channel * Index(p.w_group) + filter % Index(p.filters / p.groups) * Index(p.w_filter);
    float acc = 0.0f;
"""


def emit_conv_direct(stage: Stage, source: Assign | None) -> StageCode:
    """Code of one convolution whose groups have one channel each; raises the errors of ``codegen`` and ``cuda``."""
    return _DirectEmitter(stage, source).emit()


class _DirectEmitter:
    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.stage = stage
        self.frame = ConvFrame(stage, source)
        self.out = self.frame.out
        spatial = [(f"at[{axis}]", f"output[{axis}]") for axis in range(self.frame.dims)]
        channels = [("filter", "filters")]
        # Coordinates and their extents, outermost in the result's memory first.
        inner = [*spatial, *channels] if self.frame.filters_inner else [*channels, *spatial]
        self.coordinates = [("image", "batch"), *inner]

    def emit(self) -> StageCode:
        frame = self.frame
        frame.write_head("depthwise, FP32 sums")
        self._write_patch()
        frame.write_geometry()
        self._write_kernel()
        self._write_function()
        return stage_code(self.out, self.stage, self.frame.arguments)

    def _write_patch(self) -> None:
        result = self.stage.result
        extent = result.shape[1 if self.frame.filters_inner else -1]
        across = next((each for each in (8, 16) if extent <= each), 32)
        lanes = next(each for each in (1, 2, _MOST_LANES) if across * each >= extent or each == _MOST_LANES)
        self.out.line(f"constexpr int Threads = {_THREADS}, Across = {across}, Down = Threads / Across;")
        self.out.line(f"constexpr int Lanes = {lanes};", "elements of a thread, a row of threads apart")

    def _write_kernel(self) -> None:
        out, origins = self.out, self.frame.origins
        note, mu = origins.note("math"), origins.knob("math")
        *outer, middle, inner = self.coordinates
        out.line("__global__ void __launch_bounds__(Threads) depthwise(", note, mu)
        out.line(f"    {self.frame.parameters}, Index middle_tiles, Index inner_tiles) {{")
        out.lines("""
  Index block = blockIdx.x, image, filter, at[Dims];
  Index first = block % inner_tiles * (Lanes * Across) + threadIdx.x % Across;
  block /= inner_tiles;""")
        out.line(f"  {middle[0]} = block % middle_tiles * Down + threadIdx.x / Across;")
        out.line(f"  if ({middle[0]} >= p.{middle[1]}) {{ return; }}")
        out.line("  block /= middle_tiles;")
        for place, extent in reversed(outer[1:]):
            out.line(f"  {place} = block % Index(p.{extent});")
            out.line(f"  block /= Index(p.{extent});")
        out.line("  image = block;")
        out.lines("#pragma unroll\n  for (int lane = 0; lane < Lanes; ++lane) {")
        out.line(f"    {inner[0]} = first + lane * Across;")
        out.line(f"    if ({inner[0]} >= p.{inner[1]}) {{ break; }}")
        out.lines(_PLACE)
        self._write_taps()
        self.frame.write_store("    ")
        out.lines("  }\n}")

    def _write_taps(self) -> None:
        """One loop a spatial dimension; taps outside x are skipped."""
        out = self.out
        for axis in range(self.frame.dims):
            indent = "  " * (axis + 2)
            out.line(f"{indent}for (int tap{axis} = 0; tap{axis} < axis[{axis}].taps; ++tap{axis}) {{")
            out.line(f"{indent}  int in{axis} = from[{axis}] + tap{axis} * axis[{axis}].reach;")
            out.line(f"{indent}  if (unsigned(in{axis}) >= unsigned(p.input[{axis}])) {{ continue; }}")
            start = f"axis[{axis}].first_tap + tap{axis} * axis[{axis}].step_tap"
            before = (f"x{axis - 1}", f"w{axis - 1}") if axis else ("first_x", "first_w")
            out.line(f"{indent}  Index x{axis} = {before[0]} + in{axis} * Index(p.x_step[{axis}]);")
            out.line(f"{indent}  Index w{axis} = {before[1]} + ({start}) * Index(p.w_tap[{axis}]);")
        last = self.frame.dims - 1
        out.line(f"{'  ' * (last + 3)}acc = fmaf(float(x[x{last}]), float(w[w{last}]), acc);")
        for axis in range(last, -1, -1):
            out.line(f"{'  ' * (axis + 2)}}}")

    def _write_function(self) -> None:
        out = self.out
        *outer, middle, inner = self.coordinates
        self.frame.write_function_head()
        out.line(f"  int64_t middle_tiles = (p.{middle[1]} + Down - 1) / Down;")
        out.line(f"  int64_t inner_tiles = (p.{inner[1]} + Lanes * Across - 1) / (Lanes * Across);")
        rest = " * ".join(f"p.{extent}" for _, extent in outer)
        out.line(f"  int64_t blocks = {rest} * middle_tiles * inner_tiles;")
        out.lines("  if (blocks > 2147483647) { return 2; }\n  unsigned grid = unsigned(blocks);")
        out.line("  depthwise<<<grid, Threads, 0, static_cast<cudaStream_t>(stream)>>>(")
        out.line(f"      {self.frame.call}, Index(middle_tiles), Index(inner_tiles));")
        out.lines("  static_cast<void>(workspace);\n  return cudaGetLastError() == cudaSuccess ? 0 : 3;\n}")
