"""reduce, softmax and norm: rows of a contiguous operand, a few threads, a warp or a block each.

A row is read once and kept in registers where it fits, and read twice where it does not. Few long rows are cut over
many blocks, which leave what they gathered in the workspace for a second launch. Numbers are computed in FP32. The
chain's operands, weight and bias may be broadcast in any way; other reductions than over trailing extents are none of
this target's.
"""

from __future__ import annotations

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.elementwise import Space, broadcast_strides, merge
from kernels.codegen.cuda.expression import chain_loads, functions, number, text
from kernels.codegen.cuda.functions import definitions
from kernels.codegen.cuda.layout import CUDA_TYPES, describe, type_name
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.row_schedule import schedule_rows
from kernels.codegen.cuda.row_states import KINDS
from kernels.codegen.cuda.writer import SYMBOL, SourceWriter
from kernels.codegen.emission import StageCode
from kernels.dsl.ir import Stage, Value
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType

_ROW_TYPES = {dtype: CUDA_TYPES[dtype] for dtype in (DType.F32, DType.F16, DType.BF16)}

_JOIN_GROUP = """
// Joins the states of a row's threads; all of them get the row's.
__device__ __forceinline__ State join_all(State state) {
#pragma unroll
  for (int step = (Threads < 32 ? Threads : 32) / 2; step > 0; step /= 2) { state.join(state.across(step)); }
"""
_JOIN_BLOCK = """
  __shared__ State warps[Threads / 32];
  if (threadIdx.x % 32 == 0) { warps[threadIdx.x / 32] = state; }
  __syncthreads();
  state = threadIdx.x % 32 < Threads / 32 ? warps[threadIdx.x % 32] : State::none();
#pragma unroll
  for (int step = 16; step > 0; step /= 2) { state.join(state.across(step)); }
"""
_GATHER_HELD = """
#pragma unroll
  for (int i = 0; i < Held; ++i) {
    int64_t at = thread + i * Threads;
    if (at < vectors) { held[i] = reinterpret_cast<Vector<Element> const*>(from)[at]; }
  }
#pragma unroll
  for (int i = 0; i < Held; ++i) {
    if (thread + i * Threads < vectors) { row.join(State::of(held[i])); }
  }
"""
_GATHER = """
#pragma unroll 4
  for (int64_t at = first + thread; at < end; at += Threads) {
    row.join(State::of(reinterpret_cast<Vector<Element> const*>(from)[at]));
  }
"""
_PART = """
  int64_t vectors = p.columns / Lanes, part = (vectors + p.splits - 1) / p.splits;
  int64_t r = blockIdx.x / p.splits, first = blockIdx.x % p.splits * part;
  int64_t end = first + part < vectors ? first + part : vectors;
"""


def emit_rows(stage: Stage, source: Assign | None) -> StageCode:
    """Code of one reduce, softmax or norm; raises the errors of ``codegen`` and ``sm90a``."""
    return _RowsEmitter(stage, source).emit()


class _RowsEmitter:
    def __init__(self, stage: Stage, source: Assign | None) -> None:
        self.stage = stage
        self.origins = Origins(stage, source)
        self.out = SourceWriter()
        self.arguments = Arguments()
        self.kind = KINDS[stage.attributes["kind"]]
        self.reduces = stage.op == "reduce"
        self.schedule = schedule_rows(stage)
        chained = chain_loads(stage.chain)
        self.affine = stage.operands[1:]
        self.loads = (*self.affine, *chained)
        where = f"a {stage.op}"
        self.element = type_name(stage.name, stage.operands[0], _ROW_TYPES, where)
        self.result = type_name(stage.name, stage.result, _ROW_TYPES, where)
        self.types = [type_name(stage.name, value, CUDA_TYPES, where) for value in self.loads]
        shape = stage.result.shape
        strides = [broadcast_strides(value, shape) for value in self.loads]
        # A reduce has one element a row; the others have the last extent along the row.
        self.along = [0 if self.reduces else row[-1] for row in strides]
        lead = shape if self.reduces else shape[:-1]
        steps = strides if self.reduces else [row[:-1] for row in strides]
        self.space = merge((*lead, 1), tuple((*row, 0) for row in steps)) if steps else Space((1,), ())
        self._declare_arguments()

    def _declare_arguments(self) -> None:
        arguments, attributes = self.arguments, self.stage.attributes
        arguments.pointer("x", self.stage.operands[0].name)
        for index, value in enumerate(self.loads):
            arguments.pointer(f"t{index}", value.name)
        arguments.size("rows", attributes["rows"])
        arguments.size("columns", attributes["columns"])
        if self.schedule.splits > 1:
            arguments.size("splits", self.schedule.splits)
        for axis, extent in enumerate(self.space.extents[1:], start=1):
            arguments.size(f"extent{axis}", extent)
        for index, strides in enumerate(self.space.strides):
            for axis, stride in enumerate(strides):
                if stride:
                    arguments.size(f"t{index}_stride{axis}", stride)
            if self.along[index] > 1:
                arguments.size(f"t{index}_along", self.along[index])

    def emit(self) -> StageCode:
        stage, out = self.stage, self.out
        chain = "".join(f" >> {step.text}" for step in stage.chain)
        names = ", ".join(value.name for value in stage.operands)
        kind = stage.attributes["kind"]
        call = f"reduce({names}, {kind})" if self.reduces else f"{kind}({names})"
        out.line("", f"{stage.name} = {call}{chain}", self.origins.call)
        out.lines("#include <cmath>\n#include <cstdint>\n\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n")
        out.line()
        out.line(f"namespace {SYMBOL}_types {{")
        called: set[str] = set().union(*(functions(step.expr) for step in stage.chain))
        body = definitions(called)
        if body:
            out.lines(body)
            out.line()
        self._write_constants()
        self._write_state()
        if self.schedule.splits > 1:
            self._write_gathering_kernel()
        self._write_kernel()
        self._write_function()
        splits = self.schedule.splits
        states = stage.attributes["rows"] * splits if splits > 1 else 0
        return StageCode(
            unit=out.unit(stage.op, stage.name),
            pointers=tuple(self.arguments.pointers.values()),
            sizes=tuple(self.arguments.sizes.values()),
            workspace_bytes=states * self.kind.state.bytes,
        )

    def _write_constants(self) -> None:
        out, origins, schedule = self.out, self.origins, self.schedule
        out.line(f"constexpr int Threads = {schedule.threads};", origins.note("threads"), origins.knob("threads"))
        out.line(f"constexpr int Rows = {schedule.rows};", "rows a block")
        out.line(f"constexpr int Lanes = {schedule.lanes};", origins.note("vector"), origins.knob("vector"))
        if schedule.held:
            out.line(f"constexpr int Held = {schedule.held};", "vectors of a row in a thread's registers")
        if self.stage.op == "norm":
            eps = float(self.stage.attributes["eps"])
            out.line(f"constexpr float Eps = {number(eps, 'float')};", "", self.origins.call)
        out.line(f"using Element = {self.element};", self.stage.operands[0].name, self.origins.operand(0))
        out.lines("""
template <class T>
struct alignas(sizeof(T) * Lanes < 16 ? sizeof(T) * Lanes : 16) Vector {
  T lane[Lanes];
};
struct Sizes {""")
        for name in self.arguments.sizes:
            out.line(f"  int64_t {name};")
        out.line("};")
        out.line()

    def _write_state(self) -> None:
        self.out.lines(self.kind.definitions())
        self.out.lines(_JOIN_GROUP)
        if self.schedule.threads > 32:
            self.out.lines(_JOIN_BLOCK)
        self.out.lines("  return state;\n}\n")
        self.out.line()

    def _write_gathering_kernel(self) -> None:
        out = self.out
        out.line("__global__ void __launch_bounds__(Threads * Rows) gather(")
        out.line("    Element const* __restrict__ x, State* __restrict__ states, Sizes p) {")
        out.lines("  int thread = threadIdx.x;")
        out.lines(_PART)
        out.lines("  Element const* from = x + r * p.columns;\n  State row = State::none();")
        out.lines(_GATHER)
        out.lines("  row = join_all(row);\n  if (thread == 0) { states[blockIdx.x] = row; }\n}\n")
        out.line()

    def _write_kernel(self) -> None:
        out, split = self.out, self.schedule.splits > 1
        tensors = "".join(f"{t} const* __restrict__ t{i}, " for i, t in enumerate(self.types))
        out.line("__global__ void __launch_bounds__(Threads * Rows) finish(")
        source = "State const* __restrict__ states, " if split else ""
        out.line(f"    Element const* __restrict__ x, {source}{tensors}{self.result}* __restrict__ y, Sizes p) {{")
        self._write_gathering()
        out.line("  row = join_all(row);")
        if not split:
            out.line("  if (r >= p.rows) { return; }")
        self._write_row_numbers()
        if self.reduces:
            self._write_reduced()
        else:
            self._write_row()
        out.lines("}")
        out.line(f"}}  // namespace {SYMBOL}_types")
        out.line()

    def _write_gathering(self) -> None:
        """Declares ``thread``, ``r`` and ``from``, the vectors of the block, and ``row`` with what was gathered."""
        out = self.out
        if self.schedule.splits > 1:
            out.lines("  int thread = threadIdx.x;")
            out.lines("  int64_t r = blockIdx.x;" if self.reduces else _PART)
            out.lines("""
  State row = State::none();
  for (int64_t s = thread; s < p.splits; s += Threads) { row.join(states[r * p.splits + s]); }""")
            if not self.reduces:
                out.line("  Element const* from = x + r * p.columns;", describe(self.stage.operands[0]))
            return
        out.lines("""
  int thread = threadIdx.x % Threads;
  int64_t r = blockIdx.x * int64_t(Rows) + threadIdx.x / Threads;
  int64_t vectors = r < p.rows ? p.columns / Lanes : 0;
  State row = State::none();""")
        out.line("  Element const* from = x + r * p.columns;", describe(self.stage.operands[0]))
        if self.schedule.held:
            out.lines("  Vector<Element> held[Held];")
            out.lines(_GATHER_HELD)
        else:
            out.lines("  int64_t first = 0, end = vectors;")
            out.lines(_GATHER)

    def _write_row_numbers(self) -> None:
        """The numbers of the kind, and where each operand's row begins."""
        out, used = self.out, {axis for row in self.space.strides for axis, stride in enumerate(row) if stride}
        for name, expression in self.kind.numbers:
            out.line(f"  float {name} = {expression};")
        rest = "r"
        for axis in range(len(self.space.extents) - 1, -1, -1):
            if not any(other <= axis for other in used):
                break
            if axis in used:
                out.line(f"  int64_t c{axis} = {rest}{f' % p.extent{axis}' if axis else ''};")
            if any(other < axis for other in used):
                out.line(f"  int64_t above{axis} = {rest} / p.extent{axis};")
                rest = f"above{axis}"
        for index, value in enumerate(self.loads):
            steps = enumerate(self.space.strides[index])
            place = " + ".join(f"c{axis} * p.t{index}_stride{axis}" for axis, stride in steps if stride) or "0"
            out.line(f"  int64_t row{index} = {place};", describe(value))

    def _write_reduced(self) -> None:
        out = self.out
        out.line("  if (thread != 0) { return; }")
        for index, value in enumerate(self.loads):
            out.line(f"  float v{index} = float(t{index}[row{index}]);", value.name)
        out.line(f"  float acc = {self.kind.element};", f"{self.stage.attributes['kind']}", self.origins.call)
        self._write_chain("  ")
        out.line(f"  y[r] = {self.result}(acc);", self.stage.result.name)

    def _write_row(self) -> None:
        out = self.out
        if self.schedule.held:
            out.lines("""
#pragma unroll
  for (int k = 0; k < Held; ++k) {
    int64_t at = thread + k * Threads;
    if (at >= vectors) { break; }
    Vector<Element> const& in = held[k];""")
        else:
            out.lines("""
#pragma unroll 2
  for (int64_t at = first + thread; at < end; at += Threads) {
    Vector<Element> in = reinterpret_cast<Vector<Element> const*>(from)[at];""")
        for index, value in enumerate(self.loads):
            if self._vectorised(index, value):
                t = self.types[index]
                out.line(
                    f"    auto in{index} = *reinterpret_cast<Vector<{t}> const*>(t{index} + row{index} + at * Lanes);"
                )
            elif not self.along[index]:
                out.line(f"    float in{index} = float(t{index}[row{index}]);", "the same along the row")
        out.lines(f"    Vector<{self.result}> result;\n#pragma unroll\n    for (int i = 0; i < Lanes; ++i) {{")
        self._write_element()
        out.lines("    }")
        whole = f"reinterpret_cast<Vector<{self.result}>*>(y + r * p.columns)[at] = result;"
        out.line(f"    {whole}", self.stage.result.name)
        out.lines("  }")

    def _vectorised(self, index: int, value: Value) -> bool:
        places = (value.offset, *self.space.strides[index])
        return self.along[index] == 1 and not any(place % self.schedule.lanes for place in places)

    def _write_element(self) -> None:
        out = self.out
        out.line("      float x = float(in.lane[i]);")
        for index, value in enumerate(self.loads):
            if self._vectorised(index, value):
                lane = f"in{index}.lane[i]"
            elif self.along[index]:
                along = f" * p.t{index}_along" if self.along[index] > 1 else ""
                lane = f"t{index}[row{index} + (at * Lanes + i){along}]"
            else:
                lane = f"in{index}"
            out.line(f"      float v{index} = float({lane});", value.name)
        out.line(f"      float acc = {self.kind.element};", self.stage.attributes["kind"], self.origins.call)
        for index, operation in zip(range(len(self.affine)), "*+", strict=False):
            mu = self.origins.operand(index + 1)
            out.line(f"      acc = acc {operation} v{index};", ("weight", "bias")[index], mu)
        self._write_chain("      ")
        out.line(f"      result.lane[i] = {self.result}(acc);")

    def _write_chain(self, indent: str) -> None:
        names = {value.name: f"v{index}" for index, value in enumerate(self.loads)}
        for step in self.stage.chain:
            expression = text(step.expr, names, "float", self.stage.name)
            self.out.line(f"{indent}acc = {expression};", f">> {step.text}", step.span.line)

    def _write_function(self) -> None:
        out, split = self.out, self.schedule.splits > 1
        out.line("", "Returns 0, 2 where rows are too many for a grid, or 3 where a launch failed.")
        for index, row in enumerate(self.arguments.signature()):
            note = self.arguments.values_note(self.stage.result.name) if index == 1 else ""
            out.line(row, note, self.origins.call if index == 1 else None)
        out.line(f"  using namespace {SYMBOL}_types;")
        out.line(f"  Sizes p{{{', '.join(self.arguments.sizes)}}};")
        tensors = "".join(f"static_cast<{t} const*>(t{i}), " for i, t in enumerate(self.types))
        blocks = "rows * splits" if split else "(rows + Rows - 1) / Rows"
        out.lines(f"  int64_t blocks = {blocks};\n  if (blocks > 2147483647) {{ return 2; }}")
        out.lines("  unsigned grid = unsigned(blocks);\n  cudaStream_t on = static_cast<cudaStream_t>(stream);")
        source = ""
        if split:
            out.lines("""
  State* states = static_cast<State*>(workspace);
  gather<<<grid, Threads, 0, on>>>(static_cast<Element const*>(x), states, p);""")
            source = "states, "
            if self.reduces:
                out.line("  grid = unsigned(rows);")
        out.lines("  constexpr int Block = Threads * Rows;\n  finish<<<grid, Block, 0, on>>>(")
        out.line(f"      static_cast<Element const*>(x), {source}{tensors}static_cast<{self.result}*>(y), p);")
        out.lines("  static_cast<void>(workspace);\n  return cudaGetLastError() == cudaSuccess ? 0 : 3;\n}")
