"""map, cast and relayout: one grid-stride kernel a stage, 16-byte accesses where the memory allows them.

Extents are merged where every operand allows it, so that a contiguous map of any rank is one flat loop; what is left
(broadcasts, permuted views) is addressed by run-time strides. Operands that lie side by side along another extent
than the result's last are turned in shared memory instead: see ``tiled``.
"""

from __future__ import annotations

from kernels.codegen.cuda.frame import LAUNCHED, VECTOR, write_sizes
from kernels.codegen.cuda.lane_code import LaneCode
from kernels.codegen.cuda.space import Space, lanes
from kernels.codegen.cuda.tiled import TiledCode
from kernels.codegen.emission import StageCode
from kernels.codegen.memory_order import turned_axis
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign


def emit_elementwise(stage: Stage, source: Assign | None) -> StageCode:
    """Code of one map, cast or relayout; raises the errors of ``codegen`` and ``cuda``."""
    flat = _FlatCode(stage, source)
    axis = turned_axis(flat.space.extents, flat.space.strides[:-1])
    return flat.code() if axis is None else TiledCode(stage, source, axis).code()


class _FlatCode(LaneCode):
    """Every thread takes vectors of the result, wherever the operands lie."""

    def choose_lanes(self) -> int:
        space = Space(self.space.extents, self.space.strides[:-1])
        return lanes(space, self.loads, self.stage.result, int(self.stage.knobs["vector"]))

    def code(self) -> StageCode:
        """The stage's unit and call."""
        return self.emit("write_constants", "write_kernel", "write_function")

    def write_constants(self) -> None:
        self.write_threads_and_lanes()
        self.out.lines(VECTOR)
        write_sizes(self.out, self.arguments)

    def write_kernel(self) -> None:
        out = self.out
        out.line("__global__ void __launch_bounds__(Threads) elementwise(")
        out.line(f"    {self.tensors}{self.result_type}* __restrict__ y, Sizes p) {{")
        out.lines("""
  Index groups = Index(p.elements / Lanes), step = Index(gridDim.x) * Threads;
  for (Index group = Index(blockIdx.x) * Threads + threadIdx.x; group < groups; group += step) {
    Index at = group * Lanes;""")
        self._write_coordinates()
        for index, value in enumerate(self.loads):
            self.write_load(index, value)
        out.line(f"    Vector<{self.result_type}> result;")
        out.lines("#pragma unroll\n    for (int i = 0; i < Lanes; ++i) {")
        self.write_computation()
        out.lines("    }")
        out.line(f"    *reinterpret_cast<Vector<{self.result_type}>*>(y + at) = result;", self.stage.result.name)
        out.lines("  }\n}")

    def _write_coordinates(self) -> None:
        used = {axis for index in range(len(self.loads)) for axis in self.axes(index)}
        rest = "at"
        for axis in range(len(self.space.extents) - 1, -1, -1):
            if not any(other <= axis for other in used):
                break
            extent = f"Index(p.extent{axis})"
            if axis in used:
                self.out.line(f"    Index c{axis} = {rest}{f' % {extent}' if axis else ''};")
            if any(other < axis for other in used):
                self.out.line(f"    Index above{axis} = {rest} / {extent};")
                rest = f"above{axis}"

    def write_function(self) -> None:
        out = self.out
        self.write_entry()
        out.lines("""
  int64_t blocks = (elements / Lanes + Threads - 1) / Threads;
  if (blocks == 0) { return 0; }
  // More blocks than any card holds at once; the loop takes what is left.
  unsigned grid = unsigned(blocks < 4096 ? blocks : 4096);""")
        out.line("  elementwise<<<grid, Threads, 0, static_cast<cudaStream_t>(stream)>>>(")
        out.line(f"      {self.given_tensors}static_cast<{self.result_type}*>(y), p);")
        out.lines(LAUNCHED)
