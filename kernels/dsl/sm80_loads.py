"""How sm_80 loads the operands of a product: how many elements at once, and what that asks of the pipeline.

CUTLASS 2.x takes the width of a load as a template argument, so an extent that is no multiple of 16 bytes costs wider
loads, not the kernel. ``cp.async`` copies 4 bytes or more; where 16-bit operands allow single elements alone, the
mainloop is the one of two stages, which loads through registers. For FP32 operands that one multiplies as f16 whatever
is asked for (``cutlass/gemm/threadblock/default_mma.h``), so these take three stages.
"""

from __future__ import annotations

from kernels.dsl.errors import Layout
from kernels.dsl.ir import Stage, Value
from kernels.dsl.orientation import contiguous_side, letter
from kernels.dsl.scope import Scope
from kernels.dtypes import DType

_WIDEST = 16
_ASYNC_BYTES = 4


def widest(size: int, facts: tuple[int, ...]) -> int:
    """The largest power of two of elements of ``size`` bytes, up to 16 bytes, that divides every number (0 is even)."""
    lanes = _WIDEST // size
    while any(fact % lanes for fact in facts):
        lanes //= 2
    return lanes


def operand_lanes(value: Value) -> int:
    """Elements of one load of an operand with a contiguous side."""
    rows, columns = value.shape[-2:]
    down, along = value.strides[-2:]
    extent, pitch = (columns, down if rows > 1 else 0)
    if contiguous_side(value) == "rows":
        extent, pitch = (rows, along if columns > 1 else 0)
    batch = value.strides[0] if len(value.shape) == 3 and value.shape[0] > 1 else 0
    return widest(value.dtype.bytes, (extent, pitch, batch, value.offset))


def legal_stages(operands: tuple[Value, ...]) -> tuple[int, int]:
    """The least and the most stages that these operands take."""
    if operands[0].dtype is DType.F32:
        return 3, 16
    through_registers = any(operand_lanes(value) * value.dtype.bytes < _ASYNC_BYTES for value in operands)
    return (2, 2) if through_registers else (2, 16)


def check_operands(stage: Stage, scope: Scope) -> None:
    """Note operands without a contiguous side, and caution about narrow loads."""
    for value, role in zip(stage.operands, "ab", strict=True):
        side = letter(value, role)
        if not side:
            what = f"{value.name} has no contiguous side (its strides are {list(value.strides)})"
            mend = f"copy it: c = map({value.name})"
            scope.note(Layout(stage.span, found=list(value.strides), what=what, mend=mend))
            continue
        lanes, unit = operand_lanes(value), _WIDEST // value.dtype.bytes
        if lanes < unit:
            message = (
                f"{value.name} is loaded {lanes} element(s) at a time, as its {side}, strides and offset allow"
            )
            scope.caution("alignment", f"{message}; multiples of {unit} elements are loaded faster", stage.span)
