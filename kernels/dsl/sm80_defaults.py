"""Knobs of products on sm_80 that a program left out, chosen by sizes and element types.

Starting points for a search, as ``defaults``: nothing here is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernels.dsl.ir import Value
from kernels.dsl.knobs import KnobData
from kernels.dsl.orientation import contiguous_side
from kernels.dsl.sm80_loads import legal_stages
from kernels.dtypes import DType
from kernels.targets import Policy

if TYPE_CHECKING:
    from kernels.dsl.defaults import Product

_SMS = 108
"""Multiprocessors of the A100."""
_MOST_STAGES = 4
_SPLIT_FROM = 2**23
"""Multiplications from which three products on the tensor cores are taken for faster than FP32 on the CUDA cores."""
SMALL_SHARED, LARGE_SHARED = 99, 163
"""KiB of shared memory that a block can have: on sm_86 and sm_89, and on sm_80."""

MOST_THREADS = 256
"""CUTLASS 2.x compiles its kernels for no number of threads, so each of them may come to take 255 registers."""


def gemm(product: Product, written: dict[str, KnobData], policy: Policy) -> dict[str, Any]:
    """The largest tile that still fills the card, four warps or more, and as many stages as fit, up to four."""
    dtype = product.a.dtype
    math = written.get("math", _math(product, policy))
    knobs: dict[str, Any] = {
        "tile": [128, 128, 8] if math == "f32" else _tile(product, str(math)),
        "stages": 0,
        "swizzle": 8,
        "schedule": "auto",
        "split": 1,
        "shared": SMALL_SHARED,
        "math": math,
        "acc": "f32",
        "out": str(dtype),
    }
    knobs |= written
    knobs["warps"] = written.get("warps", warps_of(knobs["tile"]))
    knobs["stages"] = knobs["stages"] or _stages(product, knobs)
    return knobs


def _math(product: Product, policy: Policy) -> str:
    """A strict run splits FP32 data on the tensor cores, except for small products and chains of other types."""
    if product.a.dtype is not DType.F32:
        return str(product.a.dtype)
    if policy is not Policy.STRICT:
        return "tf32"
    work = product.batch * product.m * product.n * product.k
    return "tf32x3" if product.tensor_core_chain and work >= _SPLIT_FROM else "f32"


def _tile(product: Product, math: str) -> list[int]:
    """K is 64 bytes deep. tf32x3 holds both parts of its operands in registers, so its tile is half as wide."""
    k = 64 // product.a.dtype.bytes
    shapes = [(128, 64)] if math == "tf32x3" else [(128, 256), (128, 128)]
    for m, n in shapes:
        blocks = product.batch * -(-product.m // m) * -(-product.n // n)
        if blocks >= _SMS and product.n > n // 2:
            return [m, n, k]
    return [64, 64, k]


def warps_of(tile: list[int]) -> list[int]:
    """Warps of 64×64: of less where these would be fewer than four, of more where they would be more than eight."""
    m, n = max(1, tile[0] // 64), max(1, tile[1] // 64)
    while 32 * m * n > MOST_THREADS:
        n //= 2
    while m * n < 4 and (tile[0] // m > 32 or tile[1] // n > 32):
        height, width = tile[0] // m, tile[1] // n
        if height > width or (height == width and m <= n):
            m *= 2
        else:
            n *= 2
    return [m, n]


def _stages(product: Product, knobs: dict[str, Any]) -> int:
    if knobs["math"] == "f32" or not _readable((product.a, product.b)):
        return 2
    least, most = legal_stages((product.a, product.b))
    m, n, k = (int(extent) for extent in knobs["tile"])
    fit = int(knobs["shared"]) * 1024 // max(1, (m + n) * k * product.a.dtype.bytes)
    return max(least, min(fit, most, _MOST_STAGES))


def _readable(operands: tuple[Value, ...]) -> bool:
    return all(contiguous_side(value) for value in operands)
