"""The tensor-core generator: types from knobs, strides from layouts, the chain as a visitor tree, what is refused."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from kernels.codegen.cuda.errors import KnobWithoutCode, OperandHasNoContiguousExtent, OperandIsNotAligned
from kernels.codegen.emission import StageCode
from kernels.codegen.errors import ElementTypeWithoutCode, EmptyTensor, FunctionWithoutCode, OperationWithoutCode
from kernels.codegen.sm90a import emit_stage
from kernels.dsl.ir import Stage
from kernels.dtypes import DType
from tests.codegen.sm90a_stages import ACC, BF16, F16, F32, call, load, product, step, tensor, transposed

M, N, K = 256, 384, 192
A = tensor("x", F16, (M, K))
B = transposed(tensor("w", F16, (N, K)))
SHAPE = (M, N)
BIAS = step("bias(bias)", call("add", ACC, load(tensor("bias", F32, (N,)), SHAPE)))


def code(stage: Stage) -> StageCode:
    return emit_stage(stage, None)


def source(stage: Stage) -> str:
    return code(stage).unit.source


def sizes(stage: Stage) -> dict[str, int]:
    """The launch's sizes by the parameter names of the generated function."""
    made = code(stage)
    head = made.unit.source[made.unit.source.index('extern "C"') :]
    return dict(zip(re.findall(r"int64_t (\w+)", head[: head.index("{")]), made.sizes, strict=True))


def test_the_symbol_hashes_the_configuration_and_neither_names_nor_sizes() -> None:
    first = code(product(A, B, [BIAS]))
    renamed = product(tensor("other", F16, (2 * M, K)), transposed(tensor("v", F16, (N, K))), [
        step("bias(shift)", call("add", ACC, load(tensor("shift", F32, (N,)), (2 * M, N))))
    ])  # fmt: skip
    assert re.fullmatch(r"mu_gemm_[0-9a-f]{12}", first.unit.symbol)
    assert code(renamed).unit.symbol == first.unit.symbol
    assert code(product(A, B, [BIAS], tile=[128, 256, 64])).unit.symbol != first.unit.symbol


def test_program_names_stand_in_comments_alone() -> None:
    text = source(product(A, B, [BIAS]))
    code_alone = "\n".join(line.split("//")[0] for line in text.splitlines())
    assert "// >> bias(bias)" in text
    assert "bias f32[1, 384]" in text
    assert not re.search(r"\b(bias|x|w)\b", code_alone)


def test_every_pointer_and_size_of_the_call_has_a_parameter() -> None:
    made = code(product(A, B, [BIAS]))
    head = made.unit.source[made.unit.source.index('extern "C"') :]
    assert head.count("const void*") - head.count("* const void*") == len(made.pointers) == 3
    assert made.pointers == ("x", "w.T", "bias")
    assert sizes(product(A, B, [BIAS])) == {"m": M, "n": N, "k": K, "ld_a": K, "ld_b": K}


@pytest.mark.parametrize(
    ("a", "b", "layouts", "leading"),
    [
        (A, B, ("RowMajor", "ColumnMajor"), (K, K)),
        (A, tensor("w", F16, (K, N)), ("RowMajor", "RowMajor"), (K, N)),
        (transposed(tensor("x", F16, (K, M))), B, ("ColumnMajor", "ColumnMajor"), (M, K)),
        (tensor("x", F16, (M, K), (512, 1), 64), B, ("RowMajor", "ColumnMajor"), (512, K)),
    ],
)
def test_strides_give_the_layout(a, b, layouts, leading) -> None:  # type: ignore[no-untyped-def]
    found = sizes(product(a, b))
    assert (found["ld_a"], found["ld_b"]) == leading
    mainloop = source(product(a, b)).split("using Mainloop")[1]
    assert tuple(re.findall(r"half_t, cutlass::layout::(\w+), 8", mainloop)[:2]) == layouts


def test_a_batched_product_passes_batch_strides_and_a_shared_matrix_has_stride_zero() -> None:
    a = tensor("a", BF16, (6, M, K), (0, K, 1))
    b = tensor("b", BF16, (6, K, N))
    found = sizes(product(a, b, out=BF16))
    assert (found["batch"], found["batch_a"], found["batch_b"]) == (6, 0, K * N)
    assert "GemmUniversalMode::kBatched" in source(product(a, b, out=BF16))


@pytest.mark.parametrize(
    ("schedule", "kind", "scheduler"),
    [
        ("cooperative", "TmaWarpSpecializedCooperative", "PersistentScheduler"),
        ("pingpong", "TmaWarpSpecialized", "PersistentScheduler"),
        ("streamk", "TmaWarpSpecializedCooperative", "StreamKScheduler"),
        ("auto", "TmaWarpSpecializedCooperative", "PersistentScheduler"),
    ],
)
def test_schedules_pair_mainloop_epilogue_and_scheduler(schedule: str, kind: str, scheduler: str) -> None:
    text = source(product(A, B, schedule=schedule))
    mainloop = "KernelTmaWarpSpecializedPingpong" if schedule == "pingpong" else f"Kernel{kind}"
    assert f"cutlass::gemm::{mainloop}>::CollectiveOp" in text
    assert f"cutlass::epilogue::{kind}, Store>::CollectiveOp" in text
    assert f"cutlass::gemm::{scheduler}>;" in text


def test_auto_is_pingpong_for_a_tile_of_64_rows() -> None:
    assert "KernelTmaWarpSpecializedPingpong" in source(product(A, B, schedule="auto", tile=[64, 128, 64]))


def test_only_streamk_asks_for_workspace_and_the_function_checks_it() -> None:
    assert code(product(A, B)).workspace_bytes == 0
    stage = product(A, B, schedule="streamk", tile=[128, 128, 64], cluster=[2, 1])
    made = code(stage)
    tiles = 2 * 3
    assert made.workspace_bytes >= tiles * 128 * 128 * 4
    assert made.sizes[-1] == made.workspace_bytes
    assert "> workspace_bytes - offset_scratch) { return 4; }" in made.unit.source


def test_knobs_become_types_and_arguments() -> None:
    text = source(product(A, B, stages=3, swizzle=4, raster="n", cluster=[1, 2], acc="f16", out=F16))
    assert "Shape<_1, _2, _1>" in text
    assert "StageCount<3>" in text
    assert "max_swizzle_size = 4" in text
    assert "RasterOrderOptions::AlongN" in text
    assert "using Accumulator = cutlass::half_t;" in text


def test_an_extent_that_cute_has_no_name_for_is_written_out() -> None:
    assert "Shape<_128, _96, Int<320>>" in source(product(A, B, tile=[128, 96, 320]))


def test_f32_operands_are_read_as_tf32() -> None:
    text = source(product(tensor("x", F32, (M, K)), transposed(tensor("w", F32, (N, K)))))
    assert "float, cutlass::layout::RowMajor, 4" in text
    assert "read as tf32" in text


F32_A, F32_B = tensor("a", F32, (M, K)), tensor("b", F32, (K, N))
TURNED_A, TURNED_B = transposed(tensor("a", F32, (K, M))), transposed(tensor("b", F32, (N, K)))
TF32: dict[str, Any] = {"tile": [128, 128, 32]}


def handed_over(text: str) -> tuple[list[str], list[str], str]:
    """What CUTLASS is given: the layouts of C, D, A and B, the operands in order, and the problem's extents."""
    layouts = re.findall(r"cutlass::layout::(\w+), [48],", text)
    operands = re.findall(r"const\*>\((a|b|split_a|split_b)\), \{", text)
    extents = re.search(r"\{int\((\w)\), int\((\w)\), int\((?:k|depth)\)", text)
    assert extents
    return layouts, operands, "".join(extents.groups())


@pytest.mark.parametrize("schedule", ["cooperative", "pingpong", "streamk"])
@pytest.mark.parametrize(
    ("a", "b", "layouts", "order"),
    [
        (F32_A, TURNED_B, ["RowMajor", "RowMajor", "RowMajor", "ColumnMajor"], "ab"),
        (TURNED_A, TURNED_B, ["RowMajor", "RowMajor", "ColumnMajor", "ColumnMajor"], "ab"),
        (TURNED_A, F32_B, ["RowMajor", "RowMajor", "ColumnMajor", "RowMajor"], "ab"),
        (F32_A, F32_B, ["ColumnMajor", "ColumnMajor", "ColumnMajor", "ColumnMajor"], "ba"),
    ],
)
def test_tf32_is_handed_over_transposed_where_a_is_k_major_and_b_is_not(  # type: ignore[no-untyped-def]
    a, b, layouts, order, schedule
) -> None:
    found, operands, extents = handed_over(source(product(a, b, schedule=schedule, **TF32)))
    assert (found, operands, extents) == (layouts, list(order), "mn" if order == "ab" else "nm")


def test_cutlass_is_never_given_the_layouts_that_it_would_exchange_by_itself() -> None:
    for a in (F32_A, TURNED_A):
        for b in (F32_B, TURNED_B):
            layouts, _, _ = handed_over(source(product(a, b, **TF32)))
            assert layouts[2:] != ["RowMajor", "RowMajor"]


@pytest.mark.parametrize(("math", "dtype"), [("f16", "half_t"), ("bf16", "bfloat16_t")])
def test_two_byte_products_keep_their_order_in_every_layout(math: str, dtype: str) -> None:
    for a in (F32_A, TURNED_A):
        for b in (F32_B, TURNED_B):
            text = source(product(a, b, math=math))
            assert f"cutlass::{dtype}, cutlass::layout::" in text
            assert handed_over(text)[1:] == (["split_a", "split_b"], "mn")


def test_a_transposed_product_transposes_its_result_its_source_and_its_strides() -> None:
    residual = load(tensor("r", F32, SHAPE), SHAPE)
    text = source(product(F32_A, F32_B, [step("add(r)", call("add", ACC, residual))], **TF32))
    assert "static_cast<float const*>(t0), {_1{}, ld_t0, int64_t(0)}," in text
    assert "static_cast<float*>(y), {_1{}, n, m * n}}" in text
    assert "static_cast<float const*>(b), {_1{}, ld_b, int64_t(0)}" in text
    assert "static_cast<float const*>(a), {ld_a, _1{}, int64_t(0)}" in text
    assert "// Multiplied as y^T = b^T a^T" in text


@pytest.mark.parametrize(
    ("value", "node", "filled"),
    [
        (tensor("t", F32, (N,)), "Sm90ColBroadcast<0, Tile, float, float, Stride<_1, _0, _0>>", "_1{}, _0{}"),
        (tensor("t", F16, (M, 1)), "Sm90RowBroadcast<0, Tile, cutlass::half_t, float, Stride<_0, _1", "_0{}, _1{}"),
        (tensor("t", F32, (1,)), "Sm90ScalarBroadcast<float, Stride<_0, _0, _0>>", "_0{}, _0{}"),
        (transposed(tensor("t", F32, (N, M))), "Sm90AuxLoad<0, void, float, Stride<int64_t", "step_t1, ld_t1"),
        (tensor("t", F16, SHAPE), "Sm90AuxLoad<0, void, cutlass::half_t, Stride<_1, int64_t", "_1{}, ld_t1"),
    ],
)
def test_a_transposed_product_transposes_its_loads(value, node, filled) -> None:  # type: ignore[no-untyped-def]
    residual = step("add(r)", call("add", ACC, load(tensor("r", F32, SHAPE), SHAPE)))
    text = source(product(F32_A, F32_B, [residual, step("t", call("add", ACC, load(value, SHAPE)))], **TF32))
    assert f"fusion::{node}" in text
    (initialiser,) = (line for line in text.splitlines() if "add0_arguments, {" in line)
    assert f"{{{filled}, " in initialiser


def test_a_batched_transposed_product_keeps_its_batch_strides() -> None:
    a, b = tensor("a", F32, (6, M, K)), tensor("b", F32, (6, K, N))
    column = load(tensor("t", F32, (6, M, 1)), (6, M, N))
    stage = product(a, b, [step("mul(t)", call("mul", ACC, column))], **TF32)
    text = source(stage)
    assert "static_cast<float const*>(b), {_1{}, ld_b, batch_b}" in text
    assert "Sm90RowBroadcast<0, Tile, float, float, Stride<_0, _1, int64_t>>" in text
    assert sizes(stage)["batch_t0"] == M


def test_stream_k_of_a_transposed_product_counts_its_own_tiles() -> None:
    wide: dict[str, Any] = {"tile": [256, 64, 32], "schedule": "streamk"}
    a, b = tensor("a", F32, (64, K)), tensor("b", F32, (K, 1024))
    turned = code(product(a, b, **wide)).workspace_bytes
    straight = code(product(a, transposed(tensor("b", F32, (1024, K))), **wide)).workspace_bytes
    tile_bytes = 256 * 64 * 4
    assert 4 * tile_bytes <= turned < 5 * tile_bytes
    assert 16 * tile_bytes <= straight < 17 * tile_bytes


@pytest.mark.parametrize(
    ("a", "b", "knobs", "legal"),
    [
        (F32_A, F32_B, {"tile": [128, 128, 16]}, "a K that is a multiple of 32, or K-major"),
        (F32_A, F32_B, {"tile": [128, 128, 48]}, "a K that is a multiple of 32, or K-major"),
        (TURNED_A, TURNED_B, {"tile": [128, 128, 24]}, "a K that is a multiple of 32, or K-major"),
        (TURNED_A, TURNED_B, {"tile": [128, 128, 32], "stages": 3}, "auto, or K-major"),
        (F32_A, F32_B, {"tile": [128, 96, 32], "cluster": [8, 1]}, "cuts 96, the tile's n, into equal shares"),
        (
            TURNED_A,
            TURNED_B,
            {"tile": [128, 96, 32], "cluster": [8, 1]},
            "cuts 96, the tile's n, into equal shares",
        ),
        (TURNED_A, F32_B, {"tile": [128, 128, 64]}, "a K of 32 and an N that is a multiple"),
        (TURNED_A, F32_B, {"tile": [128, 72, 32]}, "a K of 32 and an N that is a multiple"),
    ],
)
def test_knobs_that_tf32_takes_only_with_other_layouts_are_refused(a, b, knobs, legal) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(KnobWithoutCode, match=legal):
        code(product(a, b, **knobs))


@pytest.mark.parametrize(
    ("value", "node"),
    [
        (tensor("t", F32, (N,)), "Sm90RowBroadcast<0, Tile, float, float, Stride<_0, _1, _0>>"),
        (tensor("t", F16, (M, 1)), "Sm90ColBroadcast<0, Tile, cutlass::half_t, float, Stride<_1, _0, _0>>"),
        (tensor("t", F32, (1,)), "Sm90ScalarBroadcast<float, Stride<_0, _0, _0>>"),
        (tensor("t", BF16, (M, N)), "Sm90SrcFetch<cutlass::bfloat16_t>"),
        (transposed(tensor("t", F32, (N, M))), "Sm90AuxLoad<0, void, float, Stride<int64_t, int64_t, int64_t>"),
        (tensor("t", F32, (M, 1), (3, 1)), "Sm90AuxLoad<0, void, float, Stride<int64_t, int64_t, int64_t>"),
    ],
)
def test_a_load_becomes_the_node_that_fits_its_strides(value, node) -> None:  # type: ignore[no-untyped-def]
    text = source(product(A, B, [step("add(t)", call("add", ACC, load(value, SHAPE)))]))
    assert f"fusion::{node}" in text
    assert ("no C: it is never read" in text) == ("SrcFetch" not in node)


def test_the_second_full_tensor_is_loaded_beside_the_source() -> None:
    chain = [step(f"add({n})", call("add", ACC, load(tensor(n, F16, SHAPE), SHAPE))) for n in ("r", "s", "r")]
    text = source(product(A, B, chain))
    assert text.count("fusion::Sm90SrcFetch<cutlass::half_t>") == 2
    assert (
        text.count("Sm90AuxLoad<0, void, cutlass::half_t, Stride<int64_t, _1, int64_t>, void, void, 8, false>") == 1
    )
    assert code(product(A, B, chain)).pointers == ("x", "w.T", "r", "s")


def test_a_batched_bias_gets_a_batch_stride() -> None:
    a, b = tensor("a", F16, (6, M, K)), tensor("b", F16, (6, K, N))
    bias = load(tensor("t", F32, (6, 1, N)), (6, M, N))
    stage = product(a, b, [step("add(t)", call("add", ACC, bias))])
    assert "Sm90RowBroadcast<0, Tile, float, float, Stride<_0, _1, int64_t>>" in source(stage)
    assert sizes(stage)["batch_t0"] == N


def test_plain_arithmetic_uses_cutlass_functors_and_the_rest_own_ones() -> None:
    other = load(tensor("t", F32, (N,)), SHAPE)
    text = source(product(A, B, [
        step("sub(t)", call("sub", ACC, other)),
        step("rsub(t)", call("sub", other, ACC)),
        step("gelu()", call("gelu", ACC)),
    ]))  # fmt: skip
    assert "Sm90Compute<cutlass::minus, float, float, Round>" in text
    assert "return (v0 - acc);" in text
    assert "fn::gelu(acc)" in text
    assert "using Gelu2 = fusion::Sm90EVT<" in text


def test_without_a_chain_the_accumulator_is_stored_as_it_is() -> None:
    assert "cutlass::epilogue::thread::Identity" in source(product(A, B))


def test_lines_point_at_the_links_they_came_from() -> None:
    made = code(product(A, B, [BIAS, step("relu()", call("relu", ACC), line=7)]))
    rows = made.unit.source.splitlines()
    of_relu = [rows[link.cpp - 1] for link in made.unit.lines if link.mu == 7]
    assert any("using Relu1" in row for row in of_relu)
    assert any("fn::relu(acc)" in row for row in of_relu)
    assert all(1 <= link.cpp <= len(rows) for link in made.unit.lines)


@pytest.mark.parametrize(
    ("stage", "found", "multiple"),
    [
        (product(tensor("x", F16, (M, 100)), transposed(tensor("w", F16, (N, 100)))), 100, 8),
        (product(A, tensor("w", F16, (K, 380))), 380, 8),
        (product(tensor("x", F16, (M, K), (K + 4, 1)), B), K + 4, 8),
        (product(tensor("x", F16, (M, K), None, 4), B), 4, 8),
        (product(A, transposed(tensor("w", F16, (390, K)))), 390, 4),
    ],
)
def test_what_tma_cannot_read_or_write_is_refused_by_name(stage: Stage, found: int, multiple: int) -> None:
    with pytest.raises(OperandIsNotAligned) as caught:
        code(stage)
    assert caught.value.fields["found"] == found
    assert caught.value.fields["multiple"] == multiple


def test_extents_that_are_not_contiguous_need_no_alignment() -> None:
    assert code(product(tensor("x", F16, (1471, K)), B)).sizes[0] == 1471


def test_an_operand_without_a_contiguous_extent_is_refused() -> None:
    with pytest.raises(OperandHasNoContiguousExtent, match=r"\[384, 2\]"):
        code(product(tensor("x", F16, (M, K), (2 * K, 2)), B))


def test_what_has_no_code_is_refused() -> None:
    with pytest.raises(KnobWithoutCode, match="pingpong"):
        code(product(A, B, schedule="other"))
    with pytest.raises(KnobWithoutCode, match="auto, m or n"):
        code(product(A, B, raster="z"))
    with pytest.raises(ElementTypeWithoutCode, match="i32"):
        code(product(A, B, [step("add(t)", call("add", ACC, load(tensor("t", DType.I32, (N,)), SHAPE)))]))
    with pytest.raises(FunctionWithoutCode, match="nonesuch"):
        code(product(A, B, [step("nonesuch()", call("nonesuch", ACC))]))
    with pytest.raises(OperationWithoutCode, match="torch"):
        code(dataclasses.replace(product(A, B), op="torch"))
    with pytest.raises(EmptyTensor, match="no elements"):
        code(product(tensor("x", F16, (0, K)), B))
