"""map, cast and relayout of operands that lie side by side along another extent than the result's last (``x.T``).

A block makes tiles of the result, ``Rows`` along that extent by ``Columns`` along the last. The operands' parts are
read as they lie, ``RowLanes`` elements a thread at once, and turned in shared memory; there, threads take them as the
result lies, ``Lanes`` at once. A warp reads and writes whole lines of memory, of 128 bytes, where the tile is as
wide. Rows of shared memory are padded by one word, which spreads a warp's accesses over the banks.
"""

from __future__ import annotations

from kernels.codegen.cuda.frame import LAUNCHED, VECTOR_OF, write_sizes
from kernels.codegen.cuda.lane_code import LaneCode
from kernels.codegen.cuda.layout import describe
from kernels.codegen.cuda.space import Space, lanes, lanes_along
from kernels.codegen.emission import StageCode
from kernels.codegen.memory_order import is_turned
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign

_SIDE = 64
"""Rows and columns of a tile where both extents have as many."""
_LEAST = 4
_SHARED_BYTES = 40 * 1024
_MOST_LANES = 8


class TiledCode(LaneCode):
    """The tile's rows run along the merged axis ``axis``, its columns along the last."""

    indent = "      "

    def __init__(self, stage: Stage, source: Assign | None, axis: int) -> None:
        self.axis = axis
        super().__init__(stage, source)
        self.turned = [index for index in range(len(self.loads)) if self._is_turned(index)]
        asked = int(stage.knobs["vector"])
        values = tuple(self.loads[index] for index in self.turned)
        rows = [self.space.strides[index] for index in self.turned]
        most = min(asked or _MOST_LANES, _MOST_LANES, 16 // max(value.dtype.bytes for value in values))
        self.row_lanes = lanes_along(self.space, axis, values, rows, most)
        self.rows, self.columns = self._tile()

    def _is_turned(self, index: int) -> bool:
        return is_turned(self.space.extents, self.space.strides[index], self.axis)

    def choose_lanes(self) -> int:
        """Along the last extent, where turned operands come from shared memory and ask for nothing."""
        read = [index for index in range(len(self.loads)) if not self._is_turned(index)]
        values = tuple(self.loads[index] for index in read)
        space = Space(self.space.extents, tuple(self.space.strides[index] for index in read))
        asked = min(int(self.stage.knobs["vector"]) or _MOST_LANES, _MOST_LANES)
        return min(lanes(space, values, self.stage.result, asked), 16 // self.stage.result.dtype.bytes)

    def _tile(self) -> tuple[int, int]:
        """Powers of two: both sides 64, or one short and the other long where an extent is short."""
        rows = _power(self.space.extents[self.axis])
        columns = _power(self.space.extents[-1])
        rows, columns = (
            min(rows, _SIDE * _SIDE // min(columns, _SIDE)),
            min(columns, _SIDE * _SIDE // min(rows, _SIDE)),
        )
        rows, columns = max(rows, _LEAST), max(columns, _LEAST)
        size = sum(self.loads[index].dtype.bytes for index in self.turned)
        while size * rows * (columns + 4) > _SHARED_BYTES:
            rows, columns = (rows // 2, columns) if rows >= columns else (rows, columns // 2)
        return rows, columns

    @property
    def sized_axes(self) -> range:
        return range(len(self.space.extents))

    def vectorised(self, index: int) -> bool:
        return not self._is_turned(index) and super().vectorised(index)

    def lane(self, index: int) -> str:
        if not self._is_turned(index):
            return super().lane(index)
        return f"tile{index}[r * Pitch{index} + c + i]"

    def code(self) -> StageCode:
        """The stage's unit and call."""
        return self.emit("write_constants", "write_kernel", "write_function")

    def write_constants(self) -> None:
        out, value = self.out, describe(self.loads[self.turned[0]])
        self.write_threads_and_lanes()
        out.line(f"constexpr int Rows = {self.rows}, Columns = {self.columns};", "a tile")
        out.line(f"constexpr int RowLanes = {self.row_lanes};", f"along the rows, as {value} lies")
        out.line(
            "constexpr int Parts = (Rows * Columns / RowLanes + Threads - 1) / Threads;", "that a thread reads"
        )
        read = 128 // min(self.loads[index].dtype.bytes for index in self.turned)
        written = 128 // self.stage.result.dtype.bytes
        out.line(f"constexpr int ReadRun = Rows < {read} ? Rows : {read};", "elements, a line of 128 bytes at most")
        out.line(f"constexpr int WriteRun = Columns < {written} ? Columns : {written};")
        # How many threads of a warp stand along a run.
        out.line("constexpr int AlongRows = ReadRun / RowLanes;")
        out.line("constexpr int AlongColumns = WriteRun / Lanes;")
        for index in self.turned:
            word = max(1, 4 // self.loads[index].dtype.bytes)
            out.line(f"constexpr int Pitch{index} = Columns + {word};", "a word more: no two threads in one bank")
        out.lines(VECTOR_OF)
        write_sizes(out, self.arguments)

    def write_kernel(self) -> None:
        out, row, last = self.out, f"c{self.axis}", len(self.space.extents) - 1
        out.line("__global__ void __launch_bounds__(Threads) elementwise(")
        out.line(f"    {self.tensors}{self.result_type}* __restrict__ y, Sizes p, int64_t tiles) {{")
        for index in self.turned:
            out.line(f"  __shared__ {self.types[index]} tile{index}[Rows * Pitch{index}];", self.loads[index].name)
        out.line("  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {")
        self._write_tile_place()
        self._write_turning()
        out.lines("""
#pragma unroll
    for (int part = threadIdx.x; part < Rows * Columns / Lanes; part += Threads) {
      int r = part / AlongColumns % Rows, c = part / AlongColumns / Rows * WriteRun + part % AlongColumns * Lanes;""")
        out.line(f"      Index {row} = first_row + r, c{last} = first_column + c;")
        out.line(f"      if ({row} >= p.extent{self.axis} || c{last} >= p.extent{last}) {{ continue; }}")
        at = "c0"
        for axis in range(1, last + 1):
            at = f"({at}) * Index(p.extent{axis}) + c{axis}" if axis > 1 else f"{at} * Index(p.extent1) + c1"
        out.line(f"      Index at = {at};")
        for index, value in enumerate(self.loads):
            if index not in self.turned:
                self.write_load(index, value)
        out.line(f"      Vector<{self.result_type}> result;")
        out.lines("#pragma unroll\n      for (int i = 0; i < Lanes; ++i) {")
        self.write_computation()
        out.line("      }")
        out.line(f"      *reinterpret_cast<Vector<{self.result_type}>*>(y + at) = result;", self.stage.result.name)
        out.lines("    }\n    __syncthreads();\n  }\n}")

    def _write_tile_place(self) -> None:
        """Where the tile begins, and the coordinates of all axes that it does not run along."""
        out, last = self.out, len(self.space.extents) - 1
        out.line(f"    int64_t across = (p.extent{last} + Columns - 1) / Columns;")
        out.line(f"    int64_t down = (p.extent{self.axis} + Rows - 1) / Rows;")
        out.line("    Index first_column = Index(tile % across) * Columns;")
        out.line("    Index first_row = Index(tile / across % down) * Rows;")
        others = [axis for axis in range(last) if axis != self.axis]
        rest = "tile / across / down"
        for axis in reversed(others):
            whole = axis == others[0]
            out.line(f"    Index c{axis} = Index({rest}{'' if whole else f' % p.extent{axis}'});")
            rest += f" / p.extent{axis}"

    def _write_turning(self) -> None:
        """All reads of a thread first, so that they are under way at once; then they go to shared memory."""
        out, row, last = self.out, f"c{self.axis}", len(self.space.extents) - 1
        row_of = "part / AlongRows / Columns * ReadRun + part % AlongRows * RowLanes"
        place = f"r = {row_of}, c = part / AlongRows % Columns;"
        for index in self.turned:
            out.line(f"    Vector<{self.types[index]}, RowLanes> read{index}[Parts];", describe(self.loads[index]))
        out.lines("#pragma unroll\n    for (int k = 0; k < Parts; ++k) {")
        out.line(f"      int part = threadIdx.x + k * Threads, {place}")
        out.line(f"      Index {row} = first_row + r, c{last} = first_column + c;")
        bounds = f"{row} >= p.extent{self.axis} || c{last} >= p.extent{last}"
        out.line(f"      if (part >= Rows * Columns / RowLanes || {bounds}) {{ continue; }}")
        for index in self.turned:
            steps = " + ".join(f"c{axis} * p.t{index}_stride{axis}" for axis in self.axes(index))
            out.line(f"      read{index}[k] =", "", self.origins.call)
            vector = f"Vector<{self.types[index]}, RowLanes>"
            out.line(f"          *reinterpret_cast<{vector} const*>(t{index} + {steps});", "", self.origins.call)
        out.lines("    }\n#pragma unroll\n    for (int k = 0; k < Parts; ++k) {")
        out.line(f"      int part = threadIdx.x + k * Threads, {place}")
        out.line("      if (part >= Rows * Columns / RowLanes) { continue; }")
        out.lines("#pragma unroll\n      for (int i = 0; i < RowLanes; ++i) {")
        for index in self.turned:
            out.line(f"        tile{index}[(r + i) * Pitch{index} + c] = read{index}[k].lane[i];")
        out.lines("      }\n    }\n    __syncthreads();")

    def write_function(self) -> None:
        out, last = self.out, len(self.space.extents) - 1
        self.write_entry()
        others = "".join(f" * extent{axis}" for axis in range(last) if axis != self.axis)
        out.line(f"  int64_t across = (extent{last} + Columns - 1) / Columns;")
        out.line(f"  int64_t tiles = across * ((extent{self.axis} + Rows - 1) / Rows){others};")
        out.line("  unsigned grid = unsigned(tiles < (1 << 20) ? tiles : 1 << 20);", "the loop takes what is left")
        out.line("  elementwise<<<grid, Threads, 0, static_cast<cudaStream_t>(stream)>>>(")
        out.line(f"      {self.given_tensors}static_cast<{self.result_type}*>(y), p, tiles);")
        out.lines(LAUNCHED)


def _power(extent: int) -> int:
    """The smallest power of two that holds ``extent``, up to 1,024."""
    return min(1024, 1 << (extent - 1).bit_length())
