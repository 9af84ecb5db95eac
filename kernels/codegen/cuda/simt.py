"""gemm and bmm of FP32 data in full FP32: a plain tiled kernel on the CUDA cores, any strides, any sizes.

Each block makes one ``.tile`` of results from slices in shared memory, each thread 8 x 8 of them. It reads no other
knob of the tensor cores (cluster, stages, ...); it is there to be right where a strict policy asks for FP32.
"""

from __future__ import annotations

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.expression import chain_loads, text
from kernels.codegen.cuda.frame import LAUNCHED, stage_code, write_entry, write_functions, write_head, write_sizes
from kernels.codegen.cuda.layout import CUDA_TYPES, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.writer import SourceWriter
from kernels.codegen.emission import StageCode
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign

_PER_THREAD = 8
_MOST_THREADS = 512
_SHARED_BYTES = 48 * 1024
_CONSTANTS = f"""
constexpr int PerThread = {_PER_THREAD};
constexpr int Threads = (Rows / PerThread) * (Columns / PerThread);
"""

_LOADS = """
  __shared__ float tile_a[Depth][Rows + 4];
  __shared__ float tile_b[Depth][Columns + 4];
  int64_t first_row = blockIdx.x * int64_t(Rows), first_column = blockIdx.y * int64_t(Columns);
  int row = threadIdx.x / (Columns / PerThread), column = threadIdx.x % (Columns / PerThread);
  float sum[PerThread][PerThread] = {};
  a += z * p.batch_a;
  b += z * p.batch_b;
  for (int64_t first_k = 0; first_k < p.k; first_k += Depth) {
    // Neighbouring threads read along the extent that lies side by side in memory.
    for (int i = threadIdx.x; i < Rows * Depth; i += Threads) {
      int r = p.column_a == 1 ? i / Depth : i % Rows, d = p.column_a == 1 ? i % Depth : i / Rows;
      bool inside = first_row + r < p.m && first_k + d < p.k;
      tile_a[d][r] = inside ? a[(first_row + r) * p.row_a + (first_k + d) * p.column_a] : 0.0f;
    }
    for (int i = threadIdx.x; i < Columns * Depth; i += Threads) {
      int c = p.column_b == 1 ? i % Columns : i / Depth, d = p.column_b == 1 ? i / Columns : i % Depth;
      bool inside = first_column + c < p.n && first_k + d < p.k;
      tile_b[d][c] = inside ? b[(first_k + d) * p.row_b + (first_column + c) * p.column_b] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < Depth; ++d) {
      float left[PerThread], right[PerThread];
#pragma unroll
      for (int i = 0; i < PerThread; ++i) { left[i] = tile_a[d][row + i * (Rows / PerThread)]; }
#pragma unroll
      for (int j = 0; j < PerThread; ++j) { right[j] = tile_b[d][column + j * (Columns / PerThread)]; }
#pragma unroll
      for (int i = 0; i < PerThread; ++i) {
#pragma unroll
        for (int j = 0; j < PerThread; ++j) { sum[i][j] = fmaf(left[i], right[j], sum[i][j]); }
      }
    }
    __syncthreads();
  }
"""

_LAUNCH = """
  // The grid's third extent has a limit of 65,535: more matrices than that take more launches.
  for (int64_t first = 0; first < p.matrices; first += 65535) {
    int64_t count = p.matrices - first < 65535 ? p.matrices - first : 65535;
    dim3 grid(unsigned((m + Rows - 1) / Rows), unsigned((n + Columns - 1) / Columns), unsigned(count));
"""


def emit_simt(stage: Stage, source: Assign | None) -> StageCode:
    """Code of one FP32 product; raises the errors of ``codegen`` and ``sm90a``."""
    return _SimtEmitter(stage, source).emit()


class _SimtEmitter:
    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.stage = stage
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.arguments = Arguments()
        self.loads = chain_loads(stage.chain)
        self.types = [type_name(stage.name, value, CUDA_TYPES, "a fused link") for value in self.loads]
        self.result_type = type_name(stage.name, stage.result, CUDA_TYPES, "a gemm's result")
        self._declare_arguments()

    def _declare_arguments(self) -> None:
        stage, arguments = self.stage, self.arguments
        a, b = stage.operands[:2]
        batched = stage.op == "bmm"
        arguments.pointer("a", a.name)
        arguments.pointer("b", b.name)
        for index, value in enumerate(self.loads):
            arguments.pointer(f"t{index}", value.name)
        matrices = stage.result.shape[0] if batched else 1
        m, n = stage.result.shape[-2:]
        for name, size in (("m", m), ("n", n), ("k", a.shape[-1]), ("matrices", matrices)):
            arguments.size(name, size)
        for name, value in [("a", a), ("b", b), *((f"t{i}", value) for i, value in enumerate(self.loads))]:
            arguments.size(f"batch_{name}", value.strides[0] if batched else 0)
            arguments.size(f"row_{name}", value.strides[-2])
            arguments.size(f"column_{name}", value.strides[-1])

    def emit(self) -> StageCode:
        stage, out = self.stage, self.out
        chain = "".join(f" >> {step.text}" for step in stage.chain)
        names = ", ".join(value.name for value in stage.operands[:2])
        write_head(out, f"{stage.name} = {stage.op}({names}){chain}, full FP32", self.origins)
        rows, columns, depth = self._tile()
        note, mu = self.origins.note("tile"), self.origins.knob("tile")
        out.line(f"constexpr int Rows = {rows}, Columns = {columns}, Depth = {depth};", note, mu)
        out.lines(_CONSTANTS)
        write_functions(out, stage.chain)
        write_sizes(out, self.arguments)
        self._write_kernel()
        self._write_function()
        return stage_code(out, stage, self.arguments)

    def _tile(self) -> tuple[int, int, int]:
        """Rows, columns and depth of a block; raises KnobWithoutCode where threads or shared memory forbid them."""
        rows, columns, depth = (int(extent) for extent in self.stage.knobs["tile"])
        threads = (rows // _PER_THREAD) * (columns // _PER_THREAD)
        whole = rows % _PER_THREAD == 0 and columns % _PER_THREAD == 0
        if not whole or not 32 <= threads <= _MOST_THREADS or (rows + columns + 8) * depth * 4 > _SHARED_BYTES:
            legal = "with math(f32): m and n multiples of 8, m·n from 2,048 to 32,768, (m + n + 8)·k up to 12,288"
            found = ", ".join(map(str, self.stage.knobs["tile"]))
            raise KnobWithoutCode(stage=self.stage.name, knob="tile", found=found, legal=legal)
        return rows, columns, depth

    def _write_kernel(self) -> None:
        stage, out = self.stage, self.out
        tensors = "".join(f", {t} const* __restrict__ t{i}" for i, t in enumerate(self.types))
        out.line(
            "__global__ void __launch_bounds__(Threads) product(",
            self.origins.note("math"),
            self.origins.knob("math"),
        )
        out.line(f"    float const* __restrict__ a, float const* __restrict__ b{tensors},")
        out.line(f"    {self.result_type}* __restrict__ y, Sizes p, int64_t first_z) {{")
        out.line("  int64_t z = first_z + blockIdx.z;")
        out.lines(_LOADS)
        out.lines("""
  for (int i = 0; i < PerThread; ++i) {
    for (int j = 0; j < PerThread; ++j) {
      int64_t r = first_row + row + i * (Rows / PerThread), c = first_column + column + j * (Columns / PerThread);
      if (r >= p.m || c >= p.n) { continue; }
      float acc = sum[i][j];""")
        names = {value.name: f"v{index}" for index, value in enumerate(self.loads)}
        for index, value in enumerate(self.loads):
            place = f"z * p.batch_t{index} + r * p.row_t{index} + c * p.column_t{index}"
            out.line(f"      float v{index} = float(t{index}[{place}]);", value.name)
        for step in stage.chain:
            expression = text(step.expr, names, "float", stage.name)
            out.line(f"      acc = {expression};", f">> {step.text}", step.span.line)
        out.line(
            f"      y[(z * p.m + r) * p.n + c] = {self.result_type}(acc);",
            self.origins.note("out"),
            self.origins.knob("out"),
        )
        out.lines("    }\n  }\n}")

    def _write_function(self) -> None:
        out = self.out
        write_entry(out, self.arguments, self.origins, self.stage.result.name)
        out.lines(_LAUNCH)
        tensors = "".join(f", static_cast<{t} const*>(t{i})" for i, t in enumerate(self.types))
        out.line("    product<<<grid, Threads, 0, static_cast<cudaStream_t>(stream)>>>(")
        out.line(f"        static_cast<float const*>(a), static_cast<float const*>(b){tensors},")
        out.line(f"        static_cast<{self.result_type}*>(y), p, first);")
        out.lines(f"  }}\n{LAUNCHED}")
