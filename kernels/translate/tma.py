"""Whether a product's operands can be read by TMA on sm_90a: rows that begin at multiples of 16 bytes.

The checker's ``alignment`` rule decides; this only chooses what to write so that a first program passes it.
"""

from __future__ import annotations

from kernels.dsl.ir import Value

_ROW_BYTES = 16


def aligned(left: Value, right: Value) -> bool:
    """Whether both operands and the row-major result have aligned rows."""
    each = _ROW_BYTES // left.dtype.bytes
    return right.shape[-1] % each == 0 and all(_rows(value, each) for value in (left, right))


def _rows(value: Value, each: int) -> bool:
    axis = next((axis for axis in (-1, -2) if value.strides[axis] == 1), -1)
    at = len(value.shape) + axis
    strides = [stride for place, stride in enumerate(value.strides) if place != at and value.shape[place] != 1]
    return value.offset % each == 0 and all(stride % each == 0 for stride in strides)
