"""Whether a product's operands can be read by TMA on sm_90a: rows that begin at multiples of 16 bytes.

The checker's ``alignment`` rule decides; this only chooses what to write so that a first program passes it.
"""

from __future__ import annotations

from kernels.dsl.defaults import Product, strict_math
from kernels.dsl.ir import Value

_ROW_BYTES = 16


def aligned(left: Value, right: Value) -> bool:
    """Whether both operands and the row-major result have aligned rows."""
    each = _ROW_BYTES // left.dtype.bytes
    return right.shape[-1] % each == 0 and all(_rows(value, each) for value in (left, right))


def exact_math(left: Value, right: Value) -> str:
    """A way to multiply FP32 operands that lie in any way, which every policy allows."""
    batch = left.shape[0] if len(left.shape) == 3 else 1
    m, k, n = left.shape[-2], left.shape[-1], right.shape[-1]
    return strict_math(Product(batch, m, n, k, left, right), left.dtype)


def _rows(value: Value, each: int) -> bool:
    axis = next((axis for axis in (-1, -2) if value.strides[axis] == 1), -1)
    at = len(value.shape) + axis
    strides = [stride for place, stride in enumerate(value.strides) if place != at and value.shape[place] != 1]
    return value.offset % each == 0 and all(stride % each == 0 for stride in strides)
