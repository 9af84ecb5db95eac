"""reduce, softmax and norm where neighbouring rows lie side by side, as along any dimension but the last.

A thread takes as many rows as it loads elements at once, the threads across a block the rows next to them, and the
threads along it share the elements of each. Rows stay in registers where they fit, and are read twice where they do
not. Where rows are few, blocks share their elements too, and what they gather is joined by a launch of its own.
"""

from __future__ import annotations

from kernels.codegen.cuda.row_schedule import schedule_lanes
from kernels.codegen.cuda.row_text import RowText
from kernels.codegen.cuda.writer import SYMBOL
from kernels.codegen.emission import StageCode
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign

_JOIN = """
// Joins the states of the threads along the block; all of them get the rows'.
__device__ __forceinline__ void join_all(State (&rows)[Lanes]) {
  constexpr int Width = Across * Lanes;
  __shared__ State all[Along][Width];
  int across = threadIdx.x % Across, along = threadIdx.x / Across;
#pragma unroll
  for (int i = 0; i < Lanes; ++i) { all[along][i * Across + across] = rows[i]; }
  __syncthreads();
  for (int c = threadIdx.x; c < Width; c += Across * Along) {
    State state = all[0][c];
#pragma unroll 4
    for (int other = 1; other < Along; ++other) { state.join(all[other][c]); }
    all[0][c] = state;
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Lanes; ++i) { rows[i] = all[0][i * Across + across]; }
}
"""
_THREAD = """
  int across = threadIdx.x % Across, along = threadIdx.x / Across;
  int64_t r = (block * Across + across) * Lanes;
  bool inside = r < p.rows;
  State rows[Lanes];
#pragma unroll
  for (int i = 0; i < Lanes; ++i) { rows[i] = State::none(); }
"""
_AGAIN_HELD = """
#pragma unroll
  for (int h = 0; h < Held; ++h) {
    int64_t n = along + h * Along;
    if (n >= p.columns) { break; }
    int64_t column = column_start(p, n);"""
_AGAIN = """
#pragma unroll 4
  for (int64_t n = first + along; n < end; n += Along) {
    int64_t column = column_start(p, n);"""
_PART = """
  int64_t part = (p.columns + p.splits - 1) / p.splits, first = split * part;
  int64_t end = first + part < p.columns ? first + part : p.columns;
"""
_JOIN_PARTS = """
  // Joiners threads a row, as many as there are parts.
  __shared__ State parts[Joined * Joiners];
  int thread = threadIdx.x % Joiners;
  int64_t r = blockIdx.x * int64_t(Joined) + threadIdx.x / Joiners;
  State row = State::none();
  if (r < p.rows) {
    for (int64_t s = thread; s < p.splits; s += Joiners) { row.join(states[r * p.splits + s]); }
  }
  parts[threadIdx.x] = row;
  __syncthreads();
  for (int half = Joiners / 2; half > 0; half /= 2) {
    if (thread < half) { parts[threadIdx.x].join(parts[threadIdx.x + half]); }
    __syncthreads();
  }
  if (r >= p.rows || thread != 0) { return; }
  row = parts[threadIdx.x];
"""


class LanesEmitter(RowText):
    """Writes one stage whose rows lie side by side."""

    def __init__(self, stage: Stage, source: Assign | None, *, early: bool) -> None:
        self.schedule = schedule_lanes(stage)
        super().__init__(stage, source, self.schedule.lanes, self.schedule.splits, early=early)

    def emit(self) -> StageCode:
        """Its code; raises the errors of ``codegen``."""
        out, schedule, origins = self.out, self.schedule, self.origins
        self.write_head()
        note = origins.note("threads")
        out.line(f"constexpr int Across = {schedule.across};", f"threads over neighbouring rows, {note}")
        out.line(f"constexpr int Along = {schedule.along};", "threads a row", origins.knob("threads"))
        out.line(f"constexpr int Lanes = {schedule.lanes};", origins.note("vector"), origins.knob("vector"))
        if schedule.held:
            out.line(f"constexpr int Held = {schedule.held};", "elements of a row in a thread's registers")
        else:
            out.line(f"constexpr int Batch = {4 if schedule.lanes > 2 else 8};", "loads of a thread under way")
        if schedule.splits > 1:
            joiners = min(256, 1 << (schedule.splits - 1).bit_length())
            out.line(
                f"constexpr int Joiners = {joiners}, Joined = {256 // joiners};", "threads a row, rows a block"
            )
        self.write_types()
        self.write_state()
        out.lines(_JOIN)
        out.line()
        split = self.splits > 1
        if split:
            self._write_gathering_kernel()
            self._write_joining_kernel()
        if not split or not self.reduces:
            self._write_kernel()
        self._write_function()
        parts = self.splits if self.reduces else self.splits + 1
        return self.code(self.stage.attributes["rows"] * parts if split else 0)

    # Gathering.

    def _write_batches(self) -> None:
        """Take in the elements from ``first`` to ``end`` of the rows from r on."""
        out = self.out
        out.lines(f"""
  if (inside) {{
    {self.rows_type} from = x + row_start(p, r);
    int64_t n = first + along;
    for (; n + (Batch - 1) * Along < end; n += Batch * Along) {{
      Vector<{self.read}> in[Batch];
#pragma unroll
      for (int i = 0; i < Batch; ++i) {{ in[i] = load(from + column_start(p, n + i * Along)); }}
#pragma unroll
      for (int i = 0; i < Lanes; ++i) {{""")
        out.line(f"        rows[i].join({self.of('Batch', 'in[k].lane[i]', 'n + k * Along')});")
        out.lines(f"""
      }}
    }}
    for (; n < end; n += Along) {{
      Vector<{self.read}> in = load(from + column_start(p, n));
#pragma unroll""")
        out.line(f"      for (int i = 0; i < Lanes; ++i) {{ rows[i].join({self.of('1', 'in.lane[i]', 'n')}); }}")
        out.lines("    }\n  }\n  join_all(rows);")

    def _write_held(self) -> None:
        out = self.out
        out.lines(f"""
  Vector<{self.read}> held[Held];
  if (inside) {{
    {self.rows_type} from = x + row_start(p, r);
#pragma unroll
    for (int k = 0; k < Held; ++k) {{
      int64_t n = along + k * Along;
      if (n < p.columns) {{ held[k] = load(from + column_start(p, n)); }}
    }}
    if (along + (Held - 1) * Along < p.columns) {{
#pragma unroll""")
        every = self.of("Held", "held[k].lane[i]", "along + k * Along")
        out.line(f"      for (int i = 0; i < Lanes; ++i) {{ rows[i] = {every}; }}")
        out.lines("""
    } else {
#pragma unroll
      for (int h = 0; h < Held - 1; ++h) {
        if (along + h * Along >= p.columns) { break; }
#pragma unroll""")
        single = self.of("1", "held[h].lane[i]", "along + h * Along")
        out.line(f"        for (int i = 0; i < Lanes; ++i) {{ rows[i].join({single}); }}")
        out.lines("      }\n    }\n  }\n  join_all(rows);")

    def _write_gathering_kernel(self) -> None:
        out = self.out
        out.line("__global__ void __launch_bounds__(Across * Along) gather(")
        out.line(f"    {self.x}, State* __restrict__ states, Sizes p) {{")
        out.lines("  int64_t block = blockIdx.x / p.splits, split = blockIdx.x % p.splits;")
        out.lines(_THREAD)
        out.lines(_PART)
        self._write_batches()
        out.lines("""
  if (inside && along == 0) {
#pragma unroll
    for (int i = 0; i < Lanes; ++i) { states[(r + i) * p.splits + split] = rows[i]; }
  }
}
""")
        out.line()

    def _write_joining_kernel(self) -> None:
        """Joins what the blocks gathered of each row, and finishes it where it is reduced."""
        out = self.out
        out.line("__global__ void __launch_bounds__(Joined * Joiners) join(")
        if self.reduces:
            out.line(
                f"    State const* __restrict__ states, {self.tensors()}{self.result}* __restrict__ y, Sizes p) {{"
            )
        else:
            out.line("    State const* __restrict__ states, State* __restrict__ joined, Sizes p) {")
        self.write_wait()
        out.lines(_JOIN_PARTS)
        if not self.reduces:
            out.lines("  joined[r] = row;\n}")
            out.line()
            return
        self.write_row_places()
        for index, value in enumerate(self.loads):
            out.line(f"  float v{index} = float(t{index}[row_t{index}]);", value.name)
        element = self.kind.element
        if not self.kind.state.places:
            self.write_kind("  ")
            element = f"{self.result}(acc)"
        out.line(f"  y[{'r' if self.dense_result else 'row_y'}] = {element};", self.stage.result.name)
        out.lines(f"}}\n}}  // namespace {SYMBOL}_types")
        out.line()

    # From the rows' states to their results.

    def _write_kernel(self) -> None:
        out, split = self.out, self.splits > 1
        out.line("__global__ void __launch_bounds__(Across * Along) finish(")
        source = "State const* __restrict__ states, " if split else ""
        out.line(f"    {self.x}, {source}{self.tensors()}{self.result}* __restrict__ y,")
        out.line("    Sizes p) {")
        self.write_wait()
        if split:
            # The last parts were read last, and may still be in the cache.
            out.lines("  int64_t order = int64_t(gridDim.x) - 1 - blockIdx.x;")
            out.lines("  int64_t block = order / p.splits, split = order % p.splits;")
        else:
            out.line("  int64_t block = blockIdx.x;")
        out.lines(_THREAD)
        if split:
            out.lines(_PART)
            out.lines("  if (inside) {\n#pragma unroll")
            out.lines("    for (int i = 0; i < Lanes; ++i) { rows[i] = states[r + i]; }\n  }")
        elif self.schedule.held:
            self._write_held()
        else:
            out.line("  int64_t first = 0, end = p.columns;")
            self._write_batches()
        out.line(f"  if (!inside{' || along != 0' if self.reduces else ''}) {{ return; }}")
        self.write_row_places()
        self._write_row_vectors()
        if self.reduces:
            self._write_reduced()
        else:
            self._write_rows()
        out.lines("}")
        out.line(f"}}  // namespace {SYMBOL}_types")
        out.line()

    def _write_row_vectors(self) -> None:
        """What each operand has for the thread's rows, where it is the same all along them."""
        for index, value in enumerate(self.loads):
            if not self.flat(index) and self.space.constant(index) and self._vectorised(index):
                place = f"load(t{index} + row_t{index})"
                self.out.line(f"  Vector<{self.types[index]}> in{index} = {place};", value.name)

    def _vectorised(self, index: int) -> bool:
        if index < len(self.loads) and self.flat(index):
            return self.loads[index].offset % self.lanes == 0
        return self.aligned(index, self.space.kept[-1])

    def _lane(self, index: int, moved: str) -> str:
        """An operand's element for row i of the thread."""
        if self._vectorised(index):
            return f"in{index}.lane[i]"
        step = self.space.kept[-1].steps[index]
        last = len(self.space.kept) - 1
        along = "" if not step else " + i" if step == 1 else f" + i * p.t{index}_stride{last}"
        return f"t{index}[start + column + i]" if self.flat(index) else f"t{index}[row_t{index}{moved}{along}]"

    def _write_reduced(self) -> None:
        out, places, last = self.out, self.kind.state.places, len(self.space.kept) - 1
        y = len(self.loads)
        out.line(f"  {self.result}* to = y + {'r' if self.dense_result else 'row_y'};", self.stage.result.name)
        whole = self.space.kept[-1].steps[y] == 1 and self.aligned(y, self.space.kept[-1])
        if whole:
            out.line(f"  Vector<{self.result}> result;")
        out.lines("#pragma unroll\n  for (int i = 0; i < Lanes; ++i) {")
        out.line("    State const& row = rows[i];")
        for index, value in enumerate(self.loads):
            out.line(f"    float v{index} = float({self._lane(index, '')});", value.name)
        if not places:
            self.write_kind("    ")
        element = self.kind.element if places else f"{self.result}(acc)"
        step = self.space.kept[-1].steps[y]
        target = "result.lane[i]" if whole else "to[i]" if step == 1 else f"to[i * p.y_stride{last}]"
        out.line(f"    {target} = {element};", "" if not places else self.stage.attributes["kind"])
        out.line("  }")
        if whole:
            out.line("  store(to, result);")

    def _write_rows(self) -> None:
        out = self.out
        for name, expression in self.kind.numbers:
            out.line(f"  float {name}_of[Lanes];")
            out.lines("#pragma unroll\n  for (int i = 0; i < Lanes; ++i) {\n    State const& row = rows[i];")
            out.line(f"    {name}_of[i] = {expression};")
            out.line("  }")
        out.line("  int64_t start = row_start(p, r);")
        out.lines(_AGAIN_HELD if self.schedule.held else _AGAIN)
        step = "const& in = held[h];" if self.schedule.held else "in = load(x + start + column);"
        out.line(f"    Vector<{self.read}> {step}")
        self.write_column_places("n", "    ")
        for index, value in enumerate(self.loads):
            if self._vectorised(index) and (self.flat(index) or not self.space.constant(index)):
                place = "start + column" if self.flat(index) else f"row_t{index} + moved_t{index}"
                out.line(f"    Vector<{self.types[index]}> in{index} = load(t{index} + {place});", value.name)
        out.lines(f"    Vector<{self.result}> result;\n#pragma unroll\n    for (int i = 0; i < Lanes; ++i) {{")
        out.line("      float x = float(in.lane[i]);")
        for name, _ in self.kind.numbers:
            out.line(f"      float {name} = {name}_of[i];")
        for index, value in enumerate(self.loads):
            moved = "" if self.space.constant(index) else f" + moved_t{index}"
            out.line(f"      float v{index} = float({self._lane(index, moved)});", value.name)
        self.write_kind("      ")
        out.lines(f"      result.lane[i] = {self.result}(acc);\n    }}")
        out.line("    store(y + start + column, result);", self.stage.result.name)
        out.line("  }")

    def _write_function(self) -> None:
        out, split = self.out, self.splits > 1
        self.write_signature()
        given, x = self.given_tensors(), self.given_x
        out.lines("""
  int64_t blocks = (rows / Lanes + Across - 1) / Across;""")
        out.line(f"  if (blocks{' * splits' if split else ''} > 2147483647) {{ return 2; }}")
        out.lines("  unsigned grid = unsigned(blocks);\n  cudaStream_t on = static_cast<cudaStream_t>(stream);")
        out.line("  constexpr int Block = Across * Along;")
        source = ""
        if split:
            out.lines("  State* states = static_cast<State*>(workspace);")
            out.line("  unsigned parts = unsigned(blocks * splits);")
            self.write_first_launch("gather", "parts", "Block", f"{x}, states, p")
            out.line("  constexpr int Joining = Joined * Joiners;")
            out.line("  grid = unsigned((rows + Joined - 1) / Joined);")
            source = "joined, "
        if split and self.reduces:
            self.write_next_launch("join", "grid", "Joining", f"states, {given}static_cast<{self.result}*>(y), p")
        elif split:
            out.line("  State* joined = states + splits * rows;")
            self.write_next_launch("join", "grid", "Joining", "states, joined, p")
            out.line("  grid = parts;")
        if not split or not self.reduces:
            rest = f"{given}static_cast<{self.result}*>(y), p"
            self.write_next_launch("finish", "grid", "Block", f"{x}, {source}{rest}")
        out.lines("  static_cast<void>(workspace);\n  return cudaGetLastError() == cudaSuccess ? 0 : 3;\n}")
