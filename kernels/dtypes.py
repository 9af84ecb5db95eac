"""Element types: one table for the language, the code generators, torch and the bounds."""

from __future__ import annotations

from enum import StrEnum


class DType(StrEnum):
    """An element type by its name in the language."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    F8E4M3 = "f8e4m3"
    F8E5M2 = "f8e5m2"
    I64 = "i64"
    I32 = "i32"
    I16 = "i16"
    I8 = "i8"
    U8 = "u8"
    BOOL = "bool"

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory."""
        return _BYTES[self]

    @property
    def torch_name(self) -> str:
        """Attribute of the torch module, as ``float32``."""
        return _TORCH[self]

    @property
    def is_float(self) -> bool:
        """Whether values of this type have a fraction."""
        return self.value[0] in "f" or self is DType.BF16

    @classmethod
    def from_torch(cls, name: str) -> DType:
        """The type torch calls ``torch.float32`` or ``float32``; KeyError where the language has none."""
        return _FROM_TORCH[name.removeprefix("torch.")]


FP8 = (DType.F8E4M3, DType.F8E5M2)

_TORCH = {
    DType.F64: "float64",
    DType.F32: "float32",
    DType.F16: "float16",
    DType.BF16: "bfloat16",
    DType.F8E4M3: "float8_e4m3fn",
    DType.F8E5M2: "float8_e5m2",
    DType.I64: "int64",
    DType.I32: "int32",
    DType.I16: "int16",
    DType.I8: "int8",
    DType.U8: "uint8",
    DType.BOOL: "bool",
}
_FROM_TORCH = {name: dtype for dtype, name in _TORCH.items()}
_BYTES = {
    DType.F64: 8, DType.F32: 4, DType.F16: 2, DType.BF16: 2, DType.F8E4M3: 1, DType.F8E5M2: 1,
    DType.I64: 8, DType.I32: 4, DType.I16: 2, DType.I8: 1, DType.U8: 1, DType.BOOL: 1,
}  # fmt: skip
