"""8-bit floats on a card: stored as ``cuda_fp8.h`` has them, rounded as torch rounds them.

Past the largest number torch (2.13) gives that number for f8e4m3, which has no infinity, and infinity for f8e5m2; the
constructors of ``cuda_fp8.h`` give the largest number for both.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernels.codegen.cuda.layout import CUDA_TYPES
from kernels.dsl.ir import Value
from kernels.dtypes import FP8, DType

_KINDS = {DType.F8E4M3: "__NV_SATFINITE, __NV_E4M3", DType.F8E5M2: "__NV_NOSAT, __NV_E5M2"}


def include(values: Iterable[Value]) -> str:
    """The header that these values need, "" for none."""
    return "#include <cuda_fp8.h>\n" if any(value.dtype in FP8 for value in values) else ""


def definition(dtype: DType) -> str:
    """``to_f8``, which makes the element type out of a float; "" for other types."""
    if dtype not in FP8:
        return ""
    name = CUDA_TYPES[dtype]
    return (
        f"__device__ __forceinline__ {name} to_f8(float x) {{\n"
        f"  {name} y;\n"
        f"  y.__x = __nv_cvt_float_to_fp8(x, {_KINDS[dtype]});\n"
        "  return y;\n"
        "}"
    )
