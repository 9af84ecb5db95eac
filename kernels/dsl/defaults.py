"""Knobs that a program left out, chosen by target, sizes and element types.

Starting points for a search: they aim at being good for any size, and the search at being best for one. Nothing here
is checked; the rules run on what comes out, whoever chose it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.dsl.ir import Value
from kernels.dsl.knobs import KnobData
from kernels.dsl.orientation import multiplied_transposed
from kernels.dsl.simd import Simd
from kernels.dtypes import DType
from kernels.targets import Policy, Target

_HOST_K = 256
_HOST_N = 1024
_HOST_M = 144
_SMS = 132
"""Multiprocessors of the H100 and H200 SXM cards."""


@dataclass(frozen=True, slots=True)
class Product:
    """The sizes of a gemm or bmm (``batch`` is 1 for gemm) and its operands."""

    batch: int
    m: int
    n: int
    k: int
    a: Value
    b: Value


def host_gemm(product: Product, written: dict[str, KnobData], simd: Simd) -> dict[str, Any]:
    """Cache blocks of equal size that keep B's panel (k·n ≤ 256·1024 elements, 1 MiB of f32) and A's block in L2."""
    acc = written.get("acc", "f64" if product.a.dtype is DType.F64 else "f32")
    # Vectors hold half as many doubles.
    micro = written.get("micro", [simd.micro[0], simd.micro[1] // (2 if acc == "f64" else 1)])
    assert isinstance(micro, list)
    tile = [
        _balanced(product.m, _HOST_M, micro[0]),
        _balanced(product.n, _HOST_N, micro[1]),
        _balanced(product.k, _HOST_K, 8),
    ]
    knobs: dict[str, Any] = {
        "tile": tile,
        "micro": micro,
        "stages": _host_stages(product, micro),
        "threads": 0,
        "split": 1,
        "math": "f32",
        "acc": acc,
        "out": str(product.a.dtype),
    }
    return knobs | written


def _host_stages(product: Product, micro: list[int]) -> int:
    """Packing pays when each packed element is used often: B once a block of rows, A once a block of columns."""
    if product.b.strides[-1] == 1 and product.m <= 2 * micro[0]:
        return 1
    in_place_a = product.a.strides[-1] == 1 and (product.n <= 4 * micro[1] or product.m <= 2 * micro[0])
    return 2 if in_place_a else 3


def _balanced(extent: int, most: int, step: int) -> int:
    """The block size, a multiple of ``step``, that cuts ``extent`` into equal parts of at most about ``most``."""
    most = max(step, most // step * step)
    parts = max(1, -(-extent // most))
    share = max(1, -(-extent // parts))
    return -(-share // step) * step


def sm90a_gemm(product: Product, written: dict[str, KnobData], policy: Policy) -> dict[str, Any]:
    """A 128-byte wide tile of K, the largest output tile that still fills the card, a cluster where the grid allows."""
    math = written.get("math", _sm90a_math(product.a.dtype, policy))
    if math == "f32":
        return _simt_gemm(product, written)
    m, n = product.m, product.n
    if multiplied_transposed((product.a, product.b), str(math)):
        m, n = n, m
    tile = written.get("tile", _sm90a_tile(product.batch, m, n, str(math)))
    assert isinstance(tile, list)
    rows, columns = -(-m // tile[0]), -(-n // tile[1])
    # Each block of a cluster loads a share of the tile: only sides that split into whole layout atoms.
    cluster = [1, 1]
    if rows % 2 == 0 and tile[1] % 64 == 0:
        cluster = [2, 1]
    elif columns % 2 == 0 and tile[0] % 64 == 0:
        cluster = [1, 2]
    knobs: dict[str, Any] = {
        "tile": tile,
        "cluster": cluster,
        "schedule": "auto",
        "stages": 0,
        "swizzle": 0,
        "raster": "auto",
        "math": math,
        "acc": "f32",
        "out": str(product.a.dtype),
    }
    knobs |= written
    if knobs["schedule"] == "auto":
        knobs["schedule"] = "cooperative" if tile[0] >= 128 else "pingpong"
    return knobs


def _simt_gemm(product: Product, written: dict[str, KnobData]) -> dict[str, Any]:
    knobs: dict[str, Any] = {
        "tile": [128, 128, 8],
        "cluster": [1, 1],
        "schedule": "auto",
        "stages": 0,
        "swizzle": 0,
        "raster": "auto",
        "math": "f32",
        "acc": "f32",
        "out": str(product.a.dtype),
    }
    return knobs | written


def _sm90a_math(dtype: DType, policy: Policy) -> str:
    if dtype is DType.F32:
        return "f32" if policy is Policy.STRICT else "tf32"
    return str(dtype)


def _sm90a_tile(batch: int, rows: int, columns: int, math: str) -> list[int]:
    k = 128 // (4 if math == "tf32" else 2)
    for m, n in ((128, 256), (128, 128)):
        if batch * -(-rows // m) * -(-columns // n) >= _SMS // 2 and columns > n // 2:
            return [m, n, k]
    return [64, 64 if columns <= 64 else 128, k]


def elementwise(written: dict[str, KnobData], target: Target) -> dict[str, Any]:
    """Knobs of map and cast."""
    return {"threads": 0 if target is Target.HOST else 256, "vector": 0} | written


def rows(written: dict[str, KnobData]) -> dict[str, Any]:
    """Knobs of reduce, softmax and the norms: 0 leaves the choice to the code generator, which knows the row."""
    return {"threads": 0, "vector": 0} | written
