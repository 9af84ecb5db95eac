"""FP32 operands multiplied as f16 or bf16: a small kernel that writes them, narrowed, into the workspace."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.codegen.cuda.layout import CUTLASS_TYPES, Matrix
from kernels.codegen.cuda.writer import SourceWriter
from kernels.dsl.ir import Value
from kernels.dtypes import DType

_ALIGNMENT = 256
_THREADS = 256


@dataclass(frozen=True, slots=True)
class Narrowing:
    """One operand's copy: ``start`` and ``end`` are bytes into the workspace."""

    operand: Matrix
    dtype: DType
    start: int
    end: int

    def as_value(self) -> Value:
        """The copy as a value: dense, with the operand's shape and majorness."""
        value = self.operand.value
        return Value(f"narrowed {value.name}", self.dtype, value.shape, value.strides, 0, value.name)

    def write_launch(self, out: SourceWriter, parameter: str, batched: bool) -> None:
        """Launch the copy; declares ``narrow_<p>``, ``narrow_ld_<p>`` and ``narrow_batch_<p>``."""
        extents = ("m", "k") if parameter == "a" else ("k", "n")
        outer, inner = extents if self.operand.major == "row" else extents[::-1]
        element = CUTLASS_TYPES[self.dtype]
        # A batch that is one matrix seen again and again is copied once.
        matrices, per_batch, from_batch = "int64_t(1)", "int64_t(0)", "int64_t(0)"
        if batched and self.operand.batch:
            matrices, per_batch, from_batch = "batch", f"{outer} * {inner}", f"batch_{parameter}"
        out.line(
            f"  auto* narrow_{parameter} = reinterpret_cast<{element}*>(",
            f"{self.operand.value.name} as {self.dtype.value}",
        )
        out.line(f"      static_cast<char*>(workspace) + offset_{parameter});")
        out.line(f"  int64_t narrow_ld_{parameter} = {inner}, narrow_batch_{parameter} = {per_batch};")
        out.line(f"  narrow<<<narrow_blocks({matrices} * {outer} * {inner}), {_THREADS}, 0, on>>>(")
        out.line(f"      static_cast<float const*>({parameter}), narrow_{parameter}, {matrices}, {outer}, {inner},")
        out.line(f"      ld_{parameter}, {from_batch});")


def plan_narrowing(operand: Matrix, dtype: DType | None, start: int) -> Narrowing | None:
    """Room for the copy of an FP32 operand from byte ``start`` on; None where nothing has to be narrowed."""
    value = operand.value
    if dtype is None or value.dtype is not DType.F32:
        return None
    copies = value.elements if operand.batch or len(value.shape) < 3 else value.elements // value.shape[0]
    size = -(-copies * dtype.bytes // _ALIGNMENT) * _ALIGNMENT
    return Narrowing(operand, dtype, start, start + size)


def write_narrow_kernel(out: SourceWriter) -> None:
    """The kernel and the size of its grid; eight elements a thread, since the tensor cores want multiples of eight."""
    out.lines("""
template <class Narrow>
__global__ void narrow(float const* __restrict__ x, Narrow* __restrict__ y, int64_t matrices, int64_t outer,
                       int64_t inner, int64_t ld, int64_t batch_stride) {
  int64_t groups = matrices * outer * (inner / 8);
  for (int64_t g = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; g < groups; g += gridDim.x * int64_t(blockDim.x)) {
    int64_t row = g / (inner / 8), column = g % (inner / 8) * 8;
    float const* from = x + row / outer * batch_stride + row % outer * ld + column;
    alignas(16) Narrow lanes[8];
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < 8; ++i) { lanes[i] = Narrow(from[i]); }
    *reinterpret_cast<uint4*>(y + row * inner + column) = *reinterpret_cast<uint4 const*>(lanes);
  }
}

inline unsigned narrow_blocks(int64_t elements) {
  int64_t blocks = (elements + 8 * 256 - 1) / (8 * 256);
  return unsigned(blocks < 1 ? 1 : blocks > 8192 ? 8192 : blocks);
}
""")
    out.line()
