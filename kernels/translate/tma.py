"""Whether a product's operands can be read by TMA on sm_90a: rows that begin at multiples of 16 bytes.

The checker's ``alignment`` rule decides; this only chooses what to write so that a first program passes it.
"""

from __future__ import annotations

from kernels.dsl.defaults import Product, strict_math
from kernels.dsl.ir import Value
from kernels.dsl.views import fresh
from kernels.dtypes import DType

_ROW_BYTES = 16


def aligned(left: Value, right: Value, reduced: bool = False) -> bool:
    """Whether both operands and the row-major result, if it is stored and not ``reduced``, have aligned rows."""
    each = _ROW_BYTES // left.dtype.bytes
    return (reduced or right.shape[-1] % each == 0) and all(_rows(value, each) for value in (left, right))


def exact_math(left: Value, right: Value, reduced: bool = False) -> str:
    """A way to multiply FP32 operands that lie in any way, which every policy allows."""
    batch = left.shape[0] if len(left.shape) == 3 else 1
    m, k, n = left.shape[-2], left.shape[-1], right.shape[-1]
    return strict_math(Product(batch, m, n, k, left, right, reduced=reduced), left.dtype)


def split_pays(batch: int, m: int, n: int, k: int) -> bool:
    """Whether a strict program's FP32 product goes to the tensor cores for its size, whatever its rows."""
    a, b = fresh("a", DType.F32, (batch, m, k)), fresh("b", DType.F32, (batch, k, n))
    whole = -(-n // 4) * 4
    return strict_math(Product(batch, m, whole, k, a, b), DType.F32) != "f32"


def _rows(value: Value, each: int) -> bool:
    axis = next((axis for axis in (-1, -2) if value.strides[axis] == 1), -1)
    at = len(value.shape) + axis
    strides = [stride for place, stride in enumerate(value.strides) if place != at and value.shape[place] != 1]
    return value.offset % each == 0 and all(stride % each == 0 for stride in strides)
