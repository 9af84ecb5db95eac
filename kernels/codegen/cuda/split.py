"""FP32 operands as the tensor cores are to read them: copies in the workspace, rounded to a narrower type or split.

A copy is K-major whatever the operand's strides, its K filled up with zeros to whole vectors of 16 bytes; so no
alignment is asked of the operand. A split writes the parts side by side along K, those of a and of b in the order in
which they meet (``dsl.maths``): one plain product over the longer K is then the sum of all the products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.layout import CUTLASS_TYPES, Matrix
from kernels.codegen.cuda.writer import SourceWriter
from kernels.dsl.ir import Value
from kernels.dsl.maths import WAYS, Way
from kernels.dtypes import DType

_ALIGNMENT = 256
_VECTOR_BYTES = 16
_ROWS = {"a": "m", "b": "n"}


@dataclass(frozen=True, slots=True)
class SplitCopy:
    """The copy of operand ``role``; ``start`` and ``end`` are bytes into the workspace.

    ``suffix`` stands behind the names of the sizes and pointers that belong to one of several products.
    """

    value: Value
    role: Literal["a", "b"]
    way: Way
    start: int
    suffix: str = ""

    @property
    def _extents(self) -> tuple[int, int, int]:
        """Matrices that are stored, their rows (the extent that is not summed over), and K."""
        first, last = self.value.shape[-2:]
        rows, k = (first, last) if self.role == "a" else (last, first)
        batched = len(self.value.shape) == 3 and self.value.shape[0] > 1 and self.value.strides[0] != 0
        return (self.value.shape[0] if batched else 1), rows, k

    @property
    def depth(self) -> int:
        """Elements of one row of the copy: every part's K, filled up."""
        lanes = _VECTOR_BYTES // self.way.element.bytes
        return len(self.way.products) * (-(-self._extents[2] // lanes) * lanes)

    @property
    def end(self) -> int:
        matrices, rows, _ = self._extents
        size = matrices * rows * self.depth * self.way.element.bytes
        return self.start + -(-size // _ALIGNMENT) * _ALIGNMENT

    @property
    def turned(self) -> bool:
        """Whether K does not lie side by side in the operand."""
        return self.value.strides[-1 if self.role == "a" else -2] != 1

    def as_matrix(self) -> Matrix:
        """The copy as an operand: [rows, depth] for a, its transpose for b."""
        matrices, rows, _ = self._extents
        batch = rows * self.depth if matrices > 1 else 0
        shape, strides = [rows, self.depth], [self.depth, 1]
        if self.role == "b":
            shape, strides = shape[::-1], strides[::-1]
        if len(self.value.shape) == 3:
            shape, strides = [self.value.shape[0], *shape], [batch, *strides]
        name = f"{self.value.name}, {self.way_text}"
        copy = Value(name, self.way.element, tuple(shape), tuple(strides), 0, name)
        return Matrix(copy, "row" if self.role == "a" else "column", self.depth, batch)

    @property
    def way_text(self) -> str:
        """``rounded to bf16``, or how many parts it is split into."""
        element = "tf32" if self.way.element is DType.F32 else self.way.element.value
        return f"rounded to {element}" if self.way.parts == 1 else f"split into {self.way.parts} parts of {element}"

    def declare(self, arguments: Arguments, batched: bool) -> None:
        """The run-time sizes that ``write_launch`` reads."""
        rows, k = self.value.strides[-2:] if self.role == "a" else self.value.strides[:-3:-1]
        name = f"{self.role}{self.suffix}"
        arguments.size(f"ld_{name}", rows)
        if self.turned:
            arguments.size(f"step_{name}", k)
        if batched:
            arguments.size(f"batch_{name}", self.value.strides[0])

    def write_launch(self, out: SourceWriter, batched: bool) -> None:
        """Launch the copy; declares ``split_<role>`` and ``split_batch_<role>``."""
        name, rows = f"{self.role}{self.suffix}", f"{_ROWS[self.role]}{self.suffix}"
        element = CUTLASS_TYPES[self.way.element]
        # A batch that is one matrix seen again and again is copied once.
        repeated = batched and self._extents[0] > 1
        matrices, from_batch = ("batch", f"batch_{name}") if repeated else ("1", "0")
        step = f"step_{name}" if self.turned else "1"
        note = f"{self.value.name}, {self.way_text}, along K"
        out.line(f"  auto* split_{name} = reinterpret_cast<{element}*>(", note)
        out.line(f"      static_cast<char*>(workspace) + offset_{name});")
        if batched:
            out.line(f"  int64_t split_batch_{name} = {f'{rows} * depth' if repeated else '0'};")
        turned, order = "true" if self.turned else "false", f"PartsOf{self.role.upper()}"
        span = f"{matrices}, {rows}, k{self.suffix}, padded{self.suffix}, {from_batch}, ld_{name}, {step}"
        out.line(f"  copy_parts<{turned}>(static_cast<float const*>({name}), split_{name}, {order}{{}},")
        out.line(f"      Span{{{span}}}, on);")


def plan_copy(value: Value, role: Literal["a", "b"], math: str, start: int, suffix: str = "") -> SplitCopy | None:
    """The copy of an operand from byte ``start`` on; None where it is read as it is stored."""
    way = WAYS.get(math)
    if way is None or not way.products or value.dtype is not DType.F32:
        return None
    return SplitCopy(value, role, way, start, suffix)


def write_depth(out: SourceWriter, way: Way, suffix: str = "") -> None:
    """Declares ``padded``, K in whole vectors, and ``depth``, the K that is multiplied."""
    lanes, count = _VECTOR_BYTES // way.element.bytes, len(way.products)
    padded = f"padded{suffix}"
    out.line(
        f"  int64_t {padded} = (k{suffix} + {lanes - 1}) / {lanes} * {lanes}, depth{suffix} = {count} * {padded};"
    )


def write_copy_kernels(out: SourceWriter, way: Way) -> None:
    """The kernels, and the parts of either operand in the order in which they meet."""
    first, second = (", ".join(str(pair[side]) for pair in way.products) for side in (0, 1))
    out.lines(_PARTS)
    out.line(f"using PartsOfA = Parts<{first}>;", "part 0 is a number rounded, part 1 its rest, rounded")
    out.line(f"using PartsOfB = Parts<{second}>;")
    out.lines(_KERNELS)
    out.line()


_PARTS = """
// The parts of one operand that follow each other along K.
template <int... Order>
struct Parts {
  static constexpr int Copies = sizeof...(Order), Distinct = std::max({Order...}) + 1;
};
"""

_KERNELS = """
// x[matrices][rows][k] with any strides; k is padded in the copy.
struct Span {
  int64_t matrices, rows, k, padded, batch, row, step;
};
constexpr int CopyThreads = 256, TurnedRows = 32, TurnedDepth = 64;

// The nearest number that the tensor cores hold: of 32 bits they read the upper 19.
template <class Part>
__device__ inline Part nearest(float x) {
  if constexpr (sizeof(Part) == 4) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if ((bits & 0x7f800000u) != 0x7f800000u) { bits = (bits + 0x1000u) & 0xffffe000u; }
    memcpy(&x, &bits, 4);
    return x;
  } else {
    return Part(x);
  }
}

// Splits one vector's worth of numbers and writes every part to its place along K.
template <class Part, int... Order>
__device__ inline void write_parts(float const* lane, Part* to, int64_t padded, Parts<Order...>) {
  constexpr int Lanes = 16 / sizeof(Part), Distinct = Parts<Order...>::Distinct;
  alignas(16) Part parts[Distinct][Lanes];
#pragma unroll
  for (int i = 0; i < Lanes; ++i) {
    float rest = lane[i];
#pragma unroll
    for (int part = 0; part < Distinct; ++part) {
      parts[part][i] = nearest<Part>(rest);
      float taken = float(parts[part][i]);
      // What overflows leaves no rest: infinity less infinity is no number.
      rest = fabsf(taken) < INFINITY ? rest - taken : 0.0f;
    }
  }
  int copy = 0;
  ((*reinterpret_cast<uint4*>(to + copy++ * padded) = *reinterpret_cast<uint4 const*>(parts[Order])), ...);
}

// K lies side by side: a warp takes 16 vectors a thread of one row.
template <class Part, class Order>
__global__ void __launch_bounds__(CopyThreads)
copy_straight(float const* __restrict__ x, Part* __restrict__ y, Span p) {
  constexpr int Lanes = 16 / sizeof(Part), Stretch = 16 * 32;
  int64_t line = blockIdx.x * int64_t(CopyThreads / 32) + threadIdx.x / 32;
  if (line >= p.matrices * p.rows) { return; }
  x += line / p.rows * p.batch + line % p.rows * p.row;
  y += line * Order::Copies * p.padded;
  int64_t vectors = p.padded / Lanes;
  for (int64_t first = blockIdx.y * int64_t(Stretch); first < vectors; first += gridDim.y * int64_t(Stretch)) {
    int64_t end = first + Stretch < vectors ? first + Stretch : vectors;
    for (int64_t vector = first + threadIdx.x % 32; vector < end; vector += 32) {
      int64_t column = vector * Lanes;
      float const* from = x + column;
      alignas(16) float lane[Lanes];
      if (column + Lanes <= p.k && reinterpret_cast<uintptr_t>(from) % 16 == 0) {
#pragma unroll
        for (int i = 0; i < Lanes; i += 4) {
          *reinterpret_cast<float4*>(lane + i) = *reinterpret_cast<float4 const*>(from + i);
        }
      } else {
#pragma unroll
        for (int i = 0; i < Lanes; ++i) { lane[i] = column + i < p.k ? from[i] : 0.0f; }
      }
      write_parts(lane, y + column, p.padded, Order{});
    }
  }
}

// K lies across: squares go through shared memory, so that reads and writes both run along what lies side by side.
template <class Part, class Order>
__global__ void __launch_bounds__(CopyThreads)
copy_turned(float const* __restrict__ x, Part* __restrict__ y, Span p) {
  constexpr int Lanes = 16 / sizeof(Part), Vectors = TurnedDepth / Lanes;
  __shared__ float tile[TurnedDepth][TurnedRows + 1];
  int64_t strips = (p.rows + TurnedRows - 1) / TurnedRows;
  int64_t matrix = blockIdx.x / strips, first_row = blockIdx.x % strips * TurnedRows;
  x += matrix * p.batch + first_row * p.row;
  y += (matrix * p.rows + first_row) * Order::Copies * p.padded;
  int rows = int(p.rows - first_row < TurnedRows ? p.rows - first_row : TurnedRows);
  for (int64_t first = blockIdx.y * int64_t(TurnedDepth); first < p.padded; first += gridDim.y * int64_t(TurnedDepth)) {
    for (int i = threadIdx.x; i < TurnedRows * TurnedDepth; i += CopyThreads) {
      int r = i % TurnedRows, d = i / TurnedRows;
      tile[d][r] = r < rows && first + d < p.k ? x[r * p.row + (first + d) * p.step] : 0.0f;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < TurnedRows * Vectors; i += CopyThreads) {
      int r = i / Vectors, d = i % Vectors * Lanes;
      if (r < rows && first + d < p.padded) {
        float lane[Lanes];
#pragma unroll
        for (int j = 0; j < Lanes; ++j) { lane[j] = tile[d + j][r]; }
        write_parts(lane, y + r * Order::Copies * p.padded + first + d, p.padded, Order{});
      }
    }
    __syncthreads();
  }
}

inline unsigned at_most(int64_t blocks, int64_t limit) { return unsigned(blocks < limit ? blocks : limit); }

template <bool Turned, class Part, class Order>
void copy_parts(float const* x, Part* y, Order, Span p, cudaStream_t on) {
  if constexpr (Turned) {
    int64_t strips = p.matrices * ((p.rows + TurnedRows - 1) / TurnedRows);
    dim3 grid(unsigned(strips), at_most((p.padded + TurnedDepth - 1) / TurnedDepth, 65535));
    auto kernel = copy_turned<Part, Order>;
    kernel<<<grid, CopyThreads, 0, on>>>(x, y, p);
  } else {
    int64_t lines = p.matrices * p.rows, stretch = 16 * 32 * int64_t(16 / sizeof(Part));
    dim3 grid(unsigned((lines + CopyThreads / 32 - 1) / (CopyThreads / 32)),
              at_most((p.padded + stretch - 1) / stretch, 65535));
    auto kernel = copy_straight<Part, Order>;
    kernel<<<grid, CopyThreads, 0, on>>>(x, y, p);
  }
}
"""
