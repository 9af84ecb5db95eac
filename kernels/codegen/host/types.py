"""Element types in the host's C++, and the type a stage computes in."""

from __future__ import annotations

from collections.abc import Iterable

from kernels.codegen.errors import ElementTypeWithoutCode
from kernels.dsl.ir import Apply, Const, Expr, Load, Stage
from kernels.dtypes import DType

CPP = {
    DType.F64: "double",
    DType.F32: "float",
    DType.F16: "mu::f16",
    DType.BF16: "mu::bf16",
    DType.I64: "int64_t",
    DType.I32: "int32_t",
    DType.I16: "int16_t",
    DType.I8: "int8_t",
    DType.U8: "uint8_t",
    DType.BOOL: "mu::boolean",
}

_GEMM = (DType.F64, DType.F32, DType.F16, DType.BF16)
_INTEGER_FUNCTIONS = frozenset({
    "neg", "abs", "sign", "square", "relu", "add", "sub", "mul", "min", "max", "clamp",
    "where", "gt", "lt", "ge", "le", "eq", "ne",
})  # fmt: skip


def cpp_type(dtype: DType, stage: Stage, role: str) -> str:
    """``float`` for f32; refuses what the host has no code for."""
    if dtype not in CPP:
        raise ElementTypeWithoutCode(stage=stage.name, target="host", dtype=dtype, role=role, legal=", ".join(CPP))
    return CPP[dtype]


def gemm_compute(stage: Stage) -> str:
    """``double`` where an operand or the accumulator is f64, else ``float``."""
    for operand in stage.operands[:2]:
        if operand.dtype not in _GEMM:
            raise ElementTypeWithoutCode(
                stage=stage.name, target="host", dtype=operand.dtype, role=operand.name, legal=", ".join(_GEMM)
            )
    wide = any(operand.dtype is DType.F64 for operand in stage.operands[:2]) or stage.knobs.get("acc") == "f64"
    return "double" if wide else "float"


def map_compute(stage: Stage) -> str:
    """``int64_t`` for integers alone, ``double`` where float would lose bits of an operand or the result."""
    dtypes = {operand.dtype for operand in stage.operands} | {stage.result.dtype}
    dtypes |= {load.value.dtype for step in stage.chain for load in loads(step.expr)}
    if not any(dtype.is_float for dtype in dtypes) and all(_integral(step.expr) for step in stage.chain):
        return "int64_t"
    wide = {DType.F64, DType.I64, DType.I32}
    return "double" if dtypes & wide else "float"


def loads(expr: Expr) -> Iterable[Load]:
    """Every operand an expression reads, left to right."""
    if isinstance(expr, Load):
        yield expr
    elif isinstance(expr, Apply):
        for argument in expr.args:
            yield from loads(argument)


def _integral(expr: Expr) -> bool:
    if isinstance(expr, Const):
        return float(expr.value).is_integer()
    if isinstance(expr, Apply):
        return expr.function in _INTEGER_FUNCTIONS and all(_integral(argument) for argument in expr.args)
    return True
