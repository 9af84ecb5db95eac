"""Element types and memory layouts: from dtypes and strides to C++ types and run-time sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernels.codegen.cuda.errors import OperandHasNoContiguousExtent, OperandIsNotAligned
from kernels.codegen.errors import ElementTypeWithoutCode
from kernels.dsl.ir import Value
from kernels.dtypes import DType

TMA_BYTES = 16

CUTLASS_TYPES = {
    DType.F32: "float", DType.F16: "cutlass::half_t", DType.BF16: "cutlass::bfloat16_t",
    DType.F8E4M3: "cutlass::float_e4m3_t", DType.F8E5M2: "cutlass::float_e5m2_t",
}  # fmt: skip

CUDA_TYPES = {
    DType.F64: "double", DType.F32: "float", DType.F16: "__half", DType.BF16: "__nv_bfloat16",
    DType.I64: "int64_t", DType.I32: "int32_t", DType.I16: "int16_t", DType.I8: "int8_t",
    DType.U8: "uint8_t", DType.BOOL: "bool", DType.F8E4M3: "__nv_fp8_e4m3", DType.F8E5M2: "__nv_fp8_e5m2",
}  # fmt: skip


def type_name(stage: str, value: Value, table: dict[DType, str], role: str) -> str:
    """The C++ element type of a value; raises ElementTypeWithoutCode where ``table`` has none."""
    if value.dtype not in table:
        legal = ", ".join(dtype.value for dtype in table)
        raise ElementTypeWithoutCode(stage=stage, target="cuda", dtype=value.dtype, role=role, legal=legal)
    return table[value.dtype]


def describe(value: Value) -> str:
    """``bias f32[1, 4096]``: name, type and extents; a broadcast extent as 1, its expansion left out of the name."""
    pairs = zip(value.shape, value.strides, strict=True)
    extents = ", ".join(str(extent if stride else 1) for extent, stride in pairs)
    return f"{value.name.split('.expand(')[0]} {value.dtype.value}[{extents}]"


@dataclass(frozen=True, slots=True)
class Matrix:
    """A gemm operand [rows, columns], or [batch, rows, columns]: ``row`` major means columns are contiguous.

    ``leading`` is the distance in elements from one row (column) to the next, ``batch`` from one matrix to the next.
    """

    value: Value
    major: Literal["row", "column"]
    leading: int
    batch: int

    @property
    def contiguous_extent(self) -> int:
        """Elements that lie side by side."""
        return self.value.shape[-1] if self.major == "row" else self.value.shape[-2]


def matrix(stage: str, value: Value) -> Matrix:
    """The layout of an operand's last two extents; an extent of 1 fits either way.

    Raises OperandHasNoContiguousExtent where neither lies side by side in memory.
    """
    rows, columns = value.shape[-2:]
    row_stride, column_stride = value.strides[-2:]
    batch = value.strides[0] if len(value.shape) == 3 and value.shape[0] > 1 else 0
    if column_stride == 1 or (columns == 1 and row_stride != 1):
        return Matrix(value, "row", row_stride if rows > 1 else _round_up(columns, value.dtype), batch)
    if row_stride == 1 or rows == 1:
        return Matrix(value, "column", column_stride if columns > 1 else _round_up(rows, value.dtype), batch)
    raise OperandHasNoContiguousExtent(stage=stage, value=value.name, strides=list(value.strides))


def _round_up(extent: int, dtype: DType) -> int:
    unit = TMA_BYTES // dtype.bytes
    return -(-extent // unit) * unit


def misalignment(value: Value, extent: int, pitches: tuple[int, ...]) -> tuple[str, int] | None:
    """What breaks TMA's 16 bytes: the contiguous extent, a stride between rows or matrices, or the start."""
    unit = TMA_BYTES // value.dtype.bytes
    facts = [("the contiguous extent", extent), *(("a stride", pitch) for pitch in pitches)]
    facts.append(("the offset into its storage", value.offset))
    return next(((what, found) for what, found in facts if found % unit), None)


def require_tma(stage: str, value: Value, extent: int, pitches: tuple[int, ...]) -> None:
    """Raises OperandIsNotAligned naming the first extent, stride or offset that is no multiple of 16 bytes."""
    wrong = misalignment(value, extent, pitches)
    if wrong is not None:
        raise OperandIsNotAligned(
            stage=stage, value=value.name, what=wrong[0], found=wrong[1],
            multiple=TMA_BYTES // value.dtype.bytes, dtype=value.dtype.value,
        )  # fmt: skip
