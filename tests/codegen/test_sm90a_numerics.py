"""How the tensor-core generator multiplies: rounded and split copies, 8-bit floats, small tiles, no C."""

from __future__ import annotations

import re

import pytest

from kernels.dtypes import DType
from tests.codegen.sm90a_stages import F32, cast, product, tensor, transposed
from tests.codegen.test_sm90a_gemm import (
    BIAS,
    F32_A,
    F32_B,
    TURNED_A,
    TURNED_B,
    A,
    B,
    K,
    M,
    N,
    code,
    sizes,
    source,
)


def test_rounded_operands_go_through_the_workspace() -> None:
    stage = product(tensor("x", F32, (M, K)), transposed(tensor("w", F32, (N, K))), math="bf16")
    made = code(stage)
    assert made.workspace_bytes == (M * K + N * K) * 2
    assert sizes(stage)["offset_b"] == M * K * 2
    assert made.unit.source.count("  copy_parts<false>(") == 2
    assert "cutlass::bfloat16_t, cutlass::layout::RowMajor, 8" in made.unit.source


def test_operands_that_are_narrow_already_are_read_where_they_are() -> None:
    assert "copy_parts" not in source(product(A, B, math="f16"))


@pytest.mark.parametrize(
    ("math", "element", "parts", "first", "second"),
    [
        ("tf32x3", "float", 3, "1, 0, 0", "0, 1, 0"),
        ("bf16x3", "cutlass::bfloat16_t", 3, "1, 0, 0", "0, 1, 0"),
        ("bf16x6", "cutlass::bfloat16_t", 6, "2, 1, 0, 1, 0, 0", "0, 1, 2, 0, 1, 0"),
        ("f16", "cutlass::half_t", 1, "0", "0"),
    ],
)
def test_a_split_is_one_product_over_a_longer_k(  # type: ignore[no-untyped-def]
    math, element, parts, first, second
) -> None:
    odd = 107
    stage = product(tensor("x", F32, (M, odd)), tensor("w", F32, (odd, N)), math=math)
    text = source(stage)
    lanes = 4 if element == "float" else 8
    assert f"using PartsOfA = Parts<{first}>;" in text
    assert f"using PartsOfB = Parts<{second}>;" in text
    assert f"int64_t padded = (k + {lanes - 1}) / {lanes} * {lanes}, depth = {parts} * padded;" in text
    assert f"    {element}, cutlass::layout::RowMajor, {lanes}," in text
    assert f"    {element}, cutlass::layout::ColumnMajor, {lanes}," in text
    assert "copy_parts<true>(static_cast<float const*>(b)" in text
    padded = -(-odd // lanes) * lanes * parts * (16 // lanes)
    assert sizes(stage)["offset_b"] == -(-M * padded // 256) * 256
    assert code(stage).workspace_bytes == sizes(stage)["offset_b"] + -(-N * padded // 256) * 256


def test_a_matrix_that_a_batch_shares_is_copied_once() -> None:
    stage = product(tensor("a", F32, (6, M, K), (0, K, 1)), tensor("b", F32, (6, K, N)), math="tf32x3")
    text = source(stage)
    assert "Span{1, m, k, padded, 0, ld_a, 1}" in text
    assert "int64_t split_batch_a = 0;" in text
    assert "Span{batch, n, k, padded, batch_b, ld_b, step_b}" in text
    assert "int64_t split_batch_b = n * depth;" in text
    assert sizes(stage)["offset_b"] == M * 3 * K * 4


@pytest.mark.parametrize(("a", "b"), [(F32_A, TURNED_B), (TURNED_A, TURNED_B), (F32_A, F32_B)])
def test_a_small_tile_gets_a_number_of_stages_that_can_be_laid_out(  # type: ignore[no-untyped-def]
    a, b
) -> None:
    text = source(product(a, b, tile=[128, 8, 32]))
    rest = (227 * 1024 - 12 * ((128 + 8) * 32 * 4 + 16)) // 1024 * 1024
    assert re.search(rf"^ +{rest}>, +// what 12 stages leave", text, re.MULTILINE)
    assert "sizeof(typename Epilogue::SharedStorage))>," in source(product(a, b, tile=[128, 32, 32]))


def test_eight_bit_floats_are_multiplied_as_they_are() -> None:
    a, b = tensor("a", DType.F8E4M3, (M, K)), transposed(tensor("b", DType.F8E4M3, (N, K)))
    text = source(product(a, b, math="f8e4m3", tile=[128, 128, 128]))
    assert text.count("cutlass::float_e4m3_t, cutlass::layout::") == 2
    assert "cutlass::layout::ColumnMajor, 16," in text


def test_c_is_no_tensor_where_the_chain_reads_none() -> None:
    text = source(product(A, B, [BIAS]))
    assert "    void, cutlass::layout::RowMajor, 4,                       // no C: it is never read" in text
    assert "{bias0_arguments, nullptr, {n, _1{}, m * n}, static_cast<float*>(y)" in text
    assert not re.search(r"SrcFetch|ptr_C|beta", text)


@pytest.mark.parametrize(
    ("dtype", "rounding"),
    [(DType.F8E4M3, "__NV_SATFINITE, __NV_E4M3"), (DType.F8E5M2, "__NV_NOSAT, __NV_E5M2")],
)
def test_a_cast_to_8_bits_rounds_as_torch_does(dtype: DType, rounding: str) -> None:
    text = source(cast(tensor("x", F32, (8, 16)), dtype))
    assert "#include <cuda_fp8.h>" in text
    assert f"__nv_cvt_float_to_fp8(x, {rounding})" in text
    assert "result.lane[i] = to_f8(float(in0.lane[i]));" in text
    assert "cuda_fp8" not in source(cast(tensor("x", F32, (8, 16)), DType.F16))


def test_sums_that_stand_for_fp32_leave_the_tensor_cores_every_few_instructions() -> None:
    for math, tile, interval in (("bf16x6", [128, 128, 64], 4), ("tf32x3", [128, 128, 64], 8)):
        text = source(product(F32_A, F32_B, math=math, tile=tile))
        assert "using Plain = typename cutlass::gemm::collective::CollectiveBuilder<" in text
        assert "MainloopSm90TmaGmmaWarpSpecializedFP8<Stages, Shape_, Schedule>" in text
        assert f"const*>(split_b), {{depth, _1{{}}, int64_t(0)}}, {interval}}}," in text
        fast = source(product(F32_A, F32_B, math=math, tile=tile, acc="fast"))
        assert "using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<" in fast
        assert "const*>(split_b), {depth, _1{}, int64_t(0)}}," in fast
    assert "PromotedOf" not in source(product(F32_A, F32_B, math="bf16x3"))


def test_fast_sums_of_8_bit_products_are_cutlass_own() -> None:
    a, b = tensor("a", DType.F8E4M3, (M, K)), transposed(tensor("b", DType.F8E4M3, (N, K)))
    exact = source(product(a, b, math="f8e4m3", tile=[128, 128, 256]))
    fast = source(product(a, b, math="f8e4m3", tile=[128, 128, 256], acc="fast"))
    assert "KernelTmaWarpSpecializedCooperative>::CollectiveOp" in exact
    assert "const*>(b), {ld_b, _1{}, int64_t(0)}, 8}," in exact
    assert "KernelTmaWarpSpecializedCooperativeFP8FastAccum>::CollectiveOp" in fast
    assert "const*>(b), {ld_b, _1{}, int64_t(0)}}," in fast
