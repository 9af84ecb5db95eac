"""The copies that stand in front of a split product, run on the CPU: what the parts are, and where they lie."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
import torch

from kernels.codegen.cuda.split import plan_copy, write_copy_kernels
from kernels.codegen.cuda.writer import SourceWriter
from kernels.dsl.ir import Value
from kernels.dsl.maths import WAYS, Way
from kernels.dtypes import DType
from tests.codegen.sm90a_emulation import compile_for_cpu
from tests.codegen.sm90a_stages import F16, F32, tensor, transposed

COPIED = [word for word, way in WAYS.items() if way.products]
CPU_TYPES = {DType.F32: "float", DType.F16: "__half", DType.BF16: "__nv_bfloat16"}
_HEAD = """
#include <algorithm>
#include <cmath>
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
"""
_CALL = """
extern "C" void copy_@NAME@(float const* x, void* y, int64_t matrices, int64_t rows, int64_t k, int64_t padded,
                            int64_t batch, int64_t row, int64_t step) {
  copy_parts<@TURNED@>(x, static_cast<@TYPE@*>(y), PartsOf@ROLE@{}, Span{matrices, rows, k, padded, batch, row, step},
                       nullptr);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ctypes.CDLL]:
    """The kernels of every way to multiply, compiled for the CPU."""
    folder = tmp_path_factory.mktemp("split")
    return {word: _compile(word, folder) for word in COPIED}


def _compile(word: str, folder: Path) -> ctypes.CDLL:
    way, out = WAYS[word], SourceWriter()
    write_copy_kernels(out, way)
    text = _HEAD + out.unit("split", word).source
    for role in "AB":
        for turned in ("true", "false"):
            call = _CALL.replace("@NAME@", f"{role}_{turned}").replace("@TURNED@", turned).replace("@ROLE@", role)
            text += call.replace("@TYPE@", CPU_TYPES[way.element])
    path = folder / f"{word}.so"
    compile_for_cpu(text, path)
    return ctypes.CDLL(str(path))


def ordinary(*shape: int) -> torch.Tensor:
    """Random numbers that are none of f16's subnormal ones, whose relative error has no bound."""
    x = torch.randn(shape)
    return x + torch.copysign(torch.tensor(2.0**-10), x)


def copied(
    library: ctypes.CDLL, way: Way, role: str, x: torch.Tensor, rows: int, k: int, strides: tuple[int, int, int]
) -> torch.Tensor:
    """The copies [matrices, rows, copies, padded] in float64; ``strides`` are those of matrix, row and K."""
    lanes = 16 // way.element.bytes
    padded = -(-k // lanes) * lanes
    matrices = 1 if strides[0] == 0 else x.shape[0]
    dtype = getattr(torch, way.element.torch_name)
    y = torch.full((matrices, rows, len(way.products), padded), 77, dtype=dtype)
    function = getattr(library, f"copy_{role}_{'false' if strides[2] == 1 else 'true'}")
    sizes = (matrices, rows, k, padded, *strides)
    function(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), *map(ctypes.c_int64, sizes))
    return y.double()


@pytest.mark.parametrize("word", COPIED)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("rows", "k"), [(1, 1), (5, 13), (33, 64), (40, 130)])
def test_every_part_lies_in_its_place_and_zeros_fill_k_up(  # type: ignore[no-untyped-def]
    library, word, turned, rows, k
) -> None:
    way = WAYS[word]
    x = ordinary(2, k, rows + 3) if turned else ordinary(2, rows, k + 3)
    strides = (x.stride(0), 1, rows + 3) if turned else (x.stride(0), k + 3, 1)
    exact = (x[:, :, :rows].transpose(1, 2) if turned else x[:, :, :k]).double()
    for place, role in enumerate("AB"):
        found = copied(library[word], way, role, x, rows, k, strides)
        assert (found[..., k:] == 0).all()
        rest = exact.clone()
        for part in range(way.parts):
            copies = [at for at, pair in enumerate(way.products) if pair[place] == part]
            values = found[:, :, copies[0], :k]
            for at in copies[1:]:
                assert torch.equal(found[:, :, at, :k], values)
            rest -= values
        assert (rest.abs() <= 2 * way.error * exact.abs()).all()


@pytest.mark.parametrize("word", COPIED)
def test_the_products_that_meet_are_the_product_to_the_error_class(  # type: ignore[no-untyped-def]
    library, word
) -> None:
    way, k = WAYS[word], 4096
    a, b = ordinary(1, 1, k), ordinary(1, 1, k)
    first = copied(library[word], way, "A", a, 1, k, (0, k, 1))[0, 0]
    second = copied(library[word], way, "B", b, 1, k, (0, k, 1))[0, 0]
    found, exact = (first * second).sum(0), (a * b).double()[0, 0]
    error = ((found - exact) / exact).abs()
    assert error.max() <= 2 * way.error
    assert error.max() >= way.error / 64, "the class says more than is true"
    sizes = (first * second).abs().mean(1)
    assert (sizes[:-1] <= sizes[-1]).all(), "the largest products are summed last"


@pytest.mark.parametrize("word", COPIED)
def test_what_is_no_number_stays_none_and_infinity_has_no_rest(library, word) -> None:  # type: ignore[no-untyped-def]
    x = torch.tensor([[[float("nan"), float("inf"), -float("inf"), 0.0, 1.0, -2.0]]])
    found = copied(library[word], WAYS[word], "A", x, 1, 6, (0, 6, 1))[0, 0]
    for values, (part, _) in zip(found[:, :6], WAYS[word].products, strict=True):
        if part == 0:
            assert torch.isnan(values[0])
            assert values[1:].tolist() == [float("inf"), -float("inf"), 0.0, 1.0, -2.0]
        else:
            assert (values[1:] == 0).all()


def test_tf32_parts_have_no_bit_that_the_tensor_cores_do_not_read(library) -> None:  # type: ignore[no-untyped-def]
    x = torch.randn(1, 1, 512)
    found = copied(library["tf32x3"], WAYS["tf32x3"], "A", x, 1, 512, (0, 512, 1)).float()
    assert (found.view(torch.int32) & 0x1FFF == 0).all()


def test_a_copy_stands_for_fp32_data_alone_and_is_k_major() -> None:
    assert plan_copy(tensor("a", F16, (8, 16)), "a", "f16", 0) is None
    assert plan_copy(tensor("a", F32, (8, 16)), "a", "tf32", 0) is None
    b: Value = transposed(tensor("b", F32, (3, 24, 13)))
    copy = plan_copy(b, "b", "bf16x6", 256)
    assert copy is not None
    made = copy.as_matrix()
    assert (made.value.shape, made.value.strides) == ((3, 96, 24), (24 * 96, 1, 96))
    assert (made.major, made.leading, made.batch) == ("column", 96, 24 * 96)
    assert copy.end == 256 + 3 * 24 * 96 * 2
    assert not copy.turned
