"""reduce, softmax and norm where a row's elements lie in contiguous pieces: a few threads, a warp or a block a row.

A row is read once and kept in registers where it fits, and read twice where it does not. Few long rows are cut over
many blocks, which leave what they gathered in the workspace for a second launch. Rows that begin between vectors give
up single elements at both ends. Numbers are computed in FP32. The chain's operands, weight and bias may be broadcast
in any way. Rows whose elements lie apart, side by side with other rows, are ``row_lanes``' work.
"""

from __future__ import annotations

from kernels.codegen.cuda.row_lanes import LanesEmitter
from kernels.codegen.cuda.row_schedule import batch_of, schedule_rows, space_of
from kernels.codegen.cuda.row_text import RowText
from kernels.codegen.cuda.writer import SYMBOL
from kernels.codegen.emission import StageCode
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign

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
_JOIN_NUMBER = """
__device__ __forceinline__ float {name}(float value) {{
#pragma unroll
  for (int step = (Threads < 32 ? Threads : 32) / 2; step > 0; step /= 2) {{
    value = {joined};
  }}
"""
_JOIN_NUMBERS = """
  __shared__ float warps[Threads / 32];
  if (threadIdx.x % 32 == 0) {{ warps[threadIdx.x / 32] = value; }}
  __syncthreads();
  value = threadIdx.x % 32 < Threads / 32 ? warps[threadIdx.x % 32] : {none};
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {{ value = {joined}; }}
"""
_NUMBERS = (
    ("most_of_all", "fmaxf(value, __shfl_xor_sync(~0u, value, step))", "-INFINITY"),
    ("sum_of_all", "value + __shfl_xor_sync(~0u, value, step)", "0.0f"),
)
_PART = """
  int64_t part = (vectors + p.splits - 1) / p.splits, first = block / p.rows * part;
  int64_t end = first + part < vectors ? first + part : vectors;
"""
_TURNS = """
  // Blocks of a row take turns with it, so that all read side by side: parts far apart come from memory more slowly.
  int64_t first = block / p.rows * (Batch * Threads), end = vectors;
"""
_EDGES = """
  // Elements in front of the first whole vector, and with those behind the last one.
  int head = int((Lanes - start % Lanes) % Lanes);
  int64_t vectors = (p.columns - head) / Lanes;
  int edges = int(p.columns - vectors * Lanes);
"""


def emit_rows(stage: Stage, source: Assign | None, *, early: bool = False) -> StageCode:
    """Code of one reduce, softmax or norm; raises the errors of ``codegen`` and ``sm90a``.

    ``early`` lets the second kernel of a long row's stage be set up while the first one ends (sm_90 and later).
    """
    if space_of(stage).adjacent:
        return LanesEmitter(stage, source, early=early).emit()
    return _RowsEmitter(stage, source, early=early).emit()


class _RowsEmitter(RowText):
    def __init__(self, stage: Stage, source: Assign | None, *, early: bool) -> None:
        self.schedule = schedule_rows(stage)
        super().__init__(stage, source, self.schedule.lanes, self.schedule.splits, early=early)
        self.ragged = self.schedule.ragged
        # From a row's start to its first whole vector.
        self.head = "head + " if self.ragged else ""

    def emit(self) -> StageCode:
        self.write_head()
        self._write_constants()
        self.write_types()
        self.write_state()
        self._write_joining()
        if self.splits > 1:
            self._write_gathering_kernel()
        self._write_kernel()
        self._write_function()
        return self.code(self.stage.attributes["rows"] * self.splits if self.splits > 1 else 0)

    @property
    def exponentials(self) -> bool:
        """Whether the threads hold a row's elements as numbers, whose exponentials are computed once."""
        return self.schedule.held > 0 and self.kind.exponential

    def _write_joining(self) -> None:
        out, block = self.out, self.schedule.threads > 32
        if self.exponentials:
            out.line("// Joins a number of each of a row's threads; all of them get the row's.")
            for name, joined, none in _NUMBERS:
                out.lines(_JOIN_NUMBER.format(name=name, joined=joined))
                if block:
                    out.lines(_JOIN_NUMBERS.format(joined=joined, none=none))
                out.lines("  return value;\n}")
        else:
            out.lines(_JOIN_GROUP)
            if block:
                out.lines(_JOIN_BLOCK)
            out.lines("  return state;\n}")
        out.line()

    def _write_constants(self) -> None:
        out, origins, schedule = self.out, self.origins, self.schedule
        out.line(f"constexpr int Threads = {schedule.threads};", origins.note("threads"), origins.knob("threads"))
        out.line(f"constexpr int Rows = {schedule.rows};", "rows a block")
        out.line(f"constexpr int Lanes = {schedule.lanes};", origins.note("vector"), origins.knob("vector"))
        if schedule.held:
            out.line(f"constexpr int Held = {schedule.held};", "vectors of a row in a thread's registers")
        else:
            batch = batch_of(schedule, self.reduces, len(self.inputs.values) if self.inputs else 0)
            out.line(f"constexpr int Batch = {batch};", "loads of a thread under way")

    # Gathering.

    def _write_batches(self, others: str = "") -> None:
        """Take in the vectors from ``first`` to ``end`` of the row at ``start``; ``others`` times as far apart."""
        out, base = self.out, f"x + start + {self.head}"
        at, one = "(at + i * Threads) * Lanes", "at * Lanes"
        out.lines(f"""
  int64_t at = first + thread;
  for (; at + (Batch - 1) * Threads < end; at += {others}Batch * Threads) {{
    Vector<{self.read}> in[Batch];
#pragma unroll
    for (int i = 0; i < Batch; ++i) {{ in[i] = load({base}column_start(p, {at})); }}""")
        place = f"{self.head}(at + k / Lanes * Threads) * Lanes + k % Lanes"
        out.line(f"    row.join({self.of('Batch * Lanes', 'in[k / Lanes].lane[k % Lanes]', place)});")
        out.line("  }")
        out.line("  for (; at < end; at += Threads) {")
        out.line(f"    Vector<{self.read}> in = load({base}column_start(p, {one}));")
        out.line(f"    row.join({self.of('Lanes', 'in.lane[k]', f'{self.head}at * Lanes + k')});")
        out.line("  }")

    def _write_edges(self, condition: str = "") -> None:
        if not self.ragged:
            return
        out = self.out
        out.line(f"  for (int e = thread; {condition}e < edges; e += Threads) {{")
        out.line("    int64_t j = e < head ? e : e + vectors * Lanes;")
        out.line(f"    row.join({self.of('1', 'x[start + j]', 'j')});")
        out.line("  }")

    def _write_held(self) -> None:
        out = self.out
        out.lines(f"""
  Vector<{self.read}> held[Held];
#pragma unroll
  for (int i = 0; i < Held; ++i) {{
    int64_t at = thread + i * Threads;
    if (at < vectors) {{ held[i] = load(x + start + {self.head}column_start(p, at * Lanes)); }}
  }}
  if (thread + (Held - 1) * Threads < vectors) {{""")
        place = f"{self.head}(thread + k / Lanes * Threads) * Lanes + k % Lanes"
        out.line(f"    row = {self.of('Held * Lanes', 'held[k / Lanes].lane[k % Lanes]', place)};")
        out.lines("""
  } else {
#pragma unroll
    for (int i = 0; i < Held - 1; ++i) {
      if (thread + i * Threads < vectors) {""")
        place = f"{self.head}(thread + i * Threads) * Lanes + k"
        out.line(f"        row.join({self.of('Lanes', 'held[i].lane[k]', place)});")
        out.lines("      }\n    }\n  }")

    def _write_exponentials(self) -> None:
        """The row's elements, or for a softmax their exponentials, in ``held``, and its numbers."""
        out = self.out
        out.lines(f"""
  float held[Held * Lanes], most = -INFINITY, sum = 0.0f;
#pragma unroll
  for (int i = 0; i < Held; ++i) {{
    int64_t at = thread + i * Threads;
    Vector<{self.read}> in;
    if (at < vectors) {{ in = load(x + start + {self.head}column_start(p, at * Lanes)); }}
#pragma unroll
    for (int k = 0; k < Lanes; ++k) {{ held[i * Lanes + k] = at < vectors ? float(in.lane[k]) : -INFINITY; }}
  }}
#pragma unroll
  for (int k = 0; k < Held * Lanes; ++k) {{ most = fmaxf(most, held[k]); }}""")
        edges = """
  for (int e = thread; e < edges; e += Threads) {{
    float element = float(x[start + (e < head ? e : e + vectors * Lanes)]);
    {work}
  }}"""
        if self.ragged:
            out.lines(edges.format(work="most = fmaxf(most, element);"))
        out.line("  most = most_of_all(most);")
        if self.ragged:
            out.lines(edges.format(work="sum += exponential(element, most);"))
        out.lines("#pragma unroll\n  for (int k = 0; k < Held * Lanes; ++k) {")
        if self.stage.attributes["kind"] == "softmax":
            out.lines("    held[k] = exponential(held[k], most);\n    sum += held[k];\n  }")
            out.line("  float scale = 1.0f / sum_of_all(sum);")
        else:
            out.lines("    sum += exponential(held[k], most);\n  }\n  float total = ::log(sum_of_all(sum));")

    def _write_gathering_kernel(self) -> None:
        out = self.out
        out.line("__global__ void __launch_bounds__(Threads * Rows) gather(")
        out.line(f"    {self.x}, State* __restrict__ states, Sizes p) {{")
        out.lines("  int thread = threadIdx.x;\n  int64_t block = blockIdx.x, r = block % p.rows;")
        out.lines("  int64_t start = row_start(p, r);")
        out.lines(_EDGES if self.ragged else "  int64_t vectors = p.columns / Lanes;")
        out.lines(_TURNS if self.reduces else _PART)
        out.line("  State row = State::none();")
        self._write_batches("p.splits * " if self.reduces else "")
        self._write_edges("first == 0 && ")
        out.lines(
            "  row = join_all(row);\n  if (thread == 0) { states[r * p.splits + block / p.rows] = row; }\n}\n"
        )
        out.line()

    def _write_gathered(self) -> None:
        """``thread``, ``r``, ``start``, the vectors of the block, and ``row`` with what was gathered."""
        out = self.out
        if self.splits > 1:
            out.lines("  int thread = threadIdx.x;")
            if self.reduces:
                out.line("  int64_t r = blockIdx.x;")
            else:
                # The last parts were read last, and may still be in the cache.
                out.lines("  int64_t block = int64_t(gridDim.x) - 1 - blockIdx.x, r = block % p.rows;")
                out.line("  int64_t start = row_start(p, r);")
                out.lines(_EDGES if self.ragged else "  int64_t vectors = p.columns / Lanes;")
                out.lines(_PART)
            out.lines("""
  State row = State::none();
  for (int64_t s = thread; s < p.splits; s += Threads) { row.join(states[r * p.splits + s]); }""")
            return
        out.lines("""
  int thread = threadIdx.x % Threads;
  int64_t r = blockIdx.x * int64_t(Rows) + threadIdx.x / Threads;
  int64_t start = row_start(p, r);""")
        out.lines(_EDGES if self.ragged else "  int64_t vectors = p.columns / Lanes;")
        if self.schedule.rows > 1:
            out.line("  if (r >= p.rows) { vectors = 0; }")
            if self.ragged:
                out.line("  if (r >= p.rows) { edges = 0; }")
        if self.exponentials:
            self._write_exponentials()
            return
        out.line("  State row = State::none();")
        if self.schedule.held:
            self._write_held()
        else:
            out.line("  int64_t first = 0, end = vectors;")
            out.line("  {")
            self._write_batches()
            out.line("  }")
        self._write_edges()

    # From a row's state to its results.

    def _write_kernel(self) -> None:
        out, split = self.out, self.splits > 1
        out.line("__global__ void __launch_bounds__(Threads * Rows) finish(")
        source = "State const* __restrict__ states, " if split else ""
        out.line(f"    {self.x}, {source}{self.tensors()}{self.result}* __restrict__ y,")
        out.line("    Sizes p) {")
        self.write_wait()
        self._write_gathered()
        if not self.exponentials:
            out.line("  row = join_all(row);")
        if not split:
            out.line("  if (r >= p.rows) { return; }")
        if self.reduces:
            out.line("  if (thread != 0) { return; }")
        for name, expression in () if self.exponentials else self.kind.numbers:
            out.line(f"  float {name} = {expression};")
        self.write_row_places()
        for index, value in enumerate(self.loads):
            if not self.flat(index) and self.space.constant(index):
                out.line(f"  float v{index} = float(t{index}[row_t{index}]);", f"{value.name}, one for the row")
        if self.reduces:
            self._write_reduced()
        else:
            self._write_row()
            self._write_row_edges()
        out.lines("}")
        out.line(f"}}  // namespace {SYMBOL}_types")
        out.line()

    def _write_reduced(self) -> None:
        place = "r" if self.dense_result else "row_y"
        if self.kind.state.places:
            self.out.line(f"  y[{place}] = {self.kind.element};", self.stage.result.name, self.origins.call)
            return
        self.write_kind("  ")
        self.out.line(f"  y[{place}] = {self.result}(acc);", self.stage.result.name)

    def _write_row(self) -> None:
        out = self.out
        if self.schedule.held:
            out.lines("""
#pragma unroll
  for (int i = 0; i < Held; ++i) {
    int64_t at = thread + i * Threads;
    if (at >= vectors) { break; }""")
            if not self.exponentials:
                out.line(f"    Vector<{self.read}> const& in = held[i];")
            out.line(f"    int64_t column = {self.head}column_start(p, at * Lanes);")
        else:
            out.lines("""
#pragma unroll 4
  for (int64_t at = first + thread; at < end; at += Threads) {""")
            out.line(f"    int64_t column = {self.head}column_start(p, at * Lanes);")
            out.line(f"    Vector<{self.read}> in = load(x + start + column);")
        self.write_column_places(f"{self.head}at * Lanes", "    ")
        for index in range(len(self.loads)):
            self._write_vector(index)
        out.lines(f"    Vector<{self.result}> result;\n#pragma unroll\n    for (int k = 0; k < Lanes; ++k) {{")
        made = self.exponentials and self.stage.attributes["kind"] == "softmax"
        element = "held[i * Lanes + k]" if self.exponentials else "float(in.lane[k])"
        out.line(f"      float x = {element};", "its exponential" if made else "")
        for index, value in enumerate(self.loads):
            if self.flat(index) or not self.space.constant(index):
                out.line(f"      float v{index} = float({self._lane(index)});", value.name)
        self.write_kind("      ", "x * scale" if made else self.kind.element)
        out.line(f"      result.lane[k] = {self.result}(acc);")
        out.line("    }")
        out.line("    store(y + start + column, result);", self.stage.result.name)
        out.line("  }")

    def _vectorised(self, index: int) -> bool:
        if self.flat(index):
            return self.loads[index].offset % self.lanes == 0
        moving = self.space.reduced[-1] if self.space.reduced else None
        return not self.ragged and self.aligned(index, moving)

    def _write_vector(self, index: int) -> None:
        if not self._vectorised(index):
            return
        place = "start + column" if self.flat(index) else f"row_t{index} + moved_t{index}"
        self.out.line(
            f"    Vector<{self.types[index]}> in{index} = load(t{index} + {place});", self.loads[index].name
        )

    def _lane(self, index: int) -> str:
        if self._vectorised(index):
            return f"in{index}.lane[k]"
        if self.flat(index):
            return f"t{index}[start + column + k]"
        return f"t{index}[row_t{index} + moved_t{index}{self._step(index, 'k')}]"

    def _step(self, index: int, lane: str) -> str:
        """How far ``lane`` elements further along the innermost piece lie."""
        step = self.space.reduced[-1].steps[index] if self.space.reduced else 0
        last = len(self.space.reduced) - 1
        return "" if not step else f" + {lane}" if step == 1 else f" + {lane} * p.t{index}_along{last}"

    def _write_row_edges(self) -> None:
        if not self.ragged:
            return
        out = self.out
        first = "first == 0 && " if self.splits > 1 else ""
        out.line(f"  for (int e = thread; {first}e < edges; e += Threads) {{")
        out.line("    int64_t j = e < head ? e : e + vectors * Lanes;")
        out.lines("    float element = float(x[start + j]);\n    float x = element;")
        for index, value in enumerate(self.loads):
            if self.flat(index):
                out.line(f"    float v{index} = float(t{index}[start + j]);", value.name)
            elif not self.space.constant(index):
                out.line(f"    float v{index} = float(t{index}[row_t{index}{self._step(index, 'j')}]);", value.name)
        self.write_kind("    ")
        out.line(f"    y[start + j] = {self.result}(acc);")
        out.line("  }")

    def _write_function(self) -> None:
        out, split = self.out, self.splits > 1
        self.write_signature()
        blocks = "rows * splits" if split else "(rows + Rows - 1) / Rows"
        out.lines(f"  int64_t blocks = {blocks};\n  if (blocks > 2147483647) {{ return 2; }}")
        out.lines("  unsigned grid = unsigned(blocks);\n  cudaStream_t on = static_cast<cudaStream_t>(stream);")
        source = ""
        if split:
            out.line("  State* states = static_cast<State*>(workspace);")
            self.write_first_launch("gather", "grid", "Threads", f"{self.given_x}, states, p")
            source = "states, "
            if self.reduces:
                out.line("  grid = unsigned(rows);")
        out.line("  constexpr int Block = Threads * Rows;")
        rest = f"{self.given_tensors()}static_cast<{self.result}*>(y), p"
        self.write_next_launch("finish", "grid", "Block", f"{self.given_x}, {source}{rest}")
        out.lines("  static_cast<void>(workspace);\n  return cudaGetLastError() == cudaSuccess ? 0 : 3;\n}")
