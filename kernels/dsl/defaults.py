"""Knobs that a program left out, chosen by target, sizes and element types.

Starting points for a search: they aim at being good for any size, and the search at being best for one. Nothing here
is checked; the rules run on what comes out, whoever chose it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.dsl.ir import Value
from kernels.dsl.knobs import KnobData
from kernels.dsl.maths import PROMOTED, SPLITS, WAYS, element_bytes, promoted
from kernels.dsl.orientation import multiplied_transposed
from kernels.dsl.simd import Simd
from kernels.dtypes import DType
from kernels.targets import Policy, Target

_HOST_K = 256
_HOST_N = 1024
_HOST_M = 144
_SMS = 132
"""Multiprocessors of the H100 and H200 SXM cards."""
_SWIZZLE = 8
"""Tiles in a column of the raster; CUTLASS takes fewer where the grid is small."""
STRICT_WAY = "bf16x6"
"""As fast as tf32x3 (1.26 and 1.18 ms at 4096³ on an H100, both with sums in the tensor cores) and more exact."""
_SPLIT_SUMS = "fast"
"""Where the sums of a split are kept: "f32" is more exact for a long K, at half the tile."""
_SPLIT_FROM = 2**23
"""Multiplications from which a split product on the tensor cores, copies included, beats FP32 on the CUDA cores."""
_SPLIT_K = range(16, 2**14 + 1)
"""Of the sums' lengths, those that a split is chosen for: below, copies cost more than they bring; above, truncated
sums are no longer FP32's (4.4e-6 relative error at 4096 on an H100, and it grows with K)."""
_SPLIT_BYTES = 2**33
"""A split's copies take workspace; where they would take more than this, FP32 is multiplied as it is."""


@dataclass(frozen=True, slots=True)
class Product:
    """The sizes of a gemm or bmm (``batch`` is 1 for gemm) and its operands."""

    batch: int
    m: int
    n: int
    k: int
    a: Value
    b: Value
    tensor_core_chain: bool = True
    """Whether the chain reads only what an epilogue of the tensor cores can."""
    reduced: bool = False
    """Whether the chain ends in a reduction, which the tensor cores' epilogue alone can do."""


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
    math = written.get("math", _sm90a_math(product, str(written.get("out", "f32")), policy))
    if math == "f32":
        return _simt_gemm(product, written)
    m, n = product.m, product.n
    turned = multiplied_transposed((product.a, product.b), str(math))
    if turned:
        m, n = n, m
    acc = str(written.get("acc", split_sums(str(math))))
    tile = written.get("tile", _sm90a_tile(product.batch, m, n, str(math), acc))
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
        "acc": acc,
        "out": "f32" if product.a.dtype.bytes == 1 else str(product.a.dtype),
    }
    knobs |= written
    if knobs["schedule"] == "auto":
        knobs["schedule"] = "cooperative" if tile[0] >= 128 else "pingpong"
    return knobs | _grid_order(knobs, turned)


def _grid_order(knobs: dict[str, Any], turned: bool) -> dict[str, Any]:
    """Which tiles run beside each other, where the program leaves it open.

    Measured once at 4096³. Eight tiles a column of the raster were 1 to 2 % faster on an H200 than CUTLASS's own one
    tile, in f16 and tf32. A product that is multiplied transposed was 6 % faster along m than along n there, and no
    slower on an H100.
    """
    if turned:
        return {"raster": "m"} if knobs["raster"] == "auto" else {}
    return {"swizzle": _SWIZZLE} if knobs["swizzle"] == 0 and knobs["schedule"] != "streamk" else {}


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


def _sm90a_math(product: Product, out: str, policy: Policy) -> str:
    if product.a.dtype is not DType.F32:
        return str(product.a.dtype)
    return strict_math(product, DType(out)) if policy is Policy.STRICT else "tf32"


def split_sums(math: str) -> str:
    """The default of ``acc`` on sm_90a."""
    return _SPLIT_SUMS if math in SPLITS and math in PROMOTED else "f32"


def strict_math(product: Product, out: DType) -> str:
    """How a strict run multiplies FP32 data: split on the tensor cores where that pays and is legal, else as it is.

    Legal are results whose rows TMA can write, or that are reduced, and chains that an epilogue can read.
    """
    work = product.batch * product.m * product.n * product.k
    copies = product.batch * (product.m + product.n) * product.k * len(WAYS[STRICT_WAY].products) * 4
    legal = product.tensor_core_chain and (product.reduced or product.n * out.bytes % 16 == 0)
    pays = (product.reduced or work >= _SPLIT_FROM) and product.k in _SPLIT_K and copies <= _SPLIT_BYTES
    return STRICT_WAY if legal and pays else "f32"


def _sm90a_tile(batch: int, rows: int, columns: int, math: str, acc: str) -> list[int]:
    k = 128 // element_bytes(math)
    # Promoted sums are kept twice, so that half as many fit.
    for m, n in ((128, 256), (128, 128))[promoted(math, acc) :]:
        if batch * -(-rows // m) * -(-columns // n) >= _SMS // 2 and columns > n // 2:
            return [m, n, k]
    return [64, 64 if columns <= 64 else 128, k]


def elementwise(written: dict[str, KnobData], target: Target) -> dict[str, Any]:
    """Knobs of map and cast."""
    return {"threads": 0 if target is Target.HOST else 256, "vector": 0} | written


def moving(written: dict[str, KnobData], target: Target) -> dict[str, Any]:
    """Knobs of pad and pool, whose vectors are the code's own choice on the host."""
    return {"threads": 0} | written if target is Target.HOST else elementwise(written, target)


def rows(written: dict[str, KnobData]) -> dict[str, Any]:
    """Knobs of reduce, softmax and the norms: 0 leaves the choice to the code generator, which knows the row."""
    return {"threads": 0, "vector": 0} | written
