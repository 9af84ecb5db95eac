"""The CUTLASS 2.x generator: types from knobs, loads from layouts, the chain as a visitor tree, what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from kernels.codegen import emit
from kernels.codegen.cuda.errors import KnobWithoutCode, OperandHasNoContiguousExtent
from kernels.codegen.errors import ElementTypeWithoutCode, OperationWithoutCode
from kernels.codegen.sm80 import emit_stage
from kernels.dtypes import DType
from kernels.targets import Policy
from tests.codegen.sm80_units import checked, codes, linear, sizes
from tests.codegen.sm90a_stages import ACC, F16, F32, call, load, product, step, tensor, transposed

SQUARE = "program p(x: f32[M, K], w: f32[K, N]) -> f32[M, N]\n  y = gemm(x, w){0}\n  return y\n"


def kernel(source: str) -> str:
    """The lines that instantiate the kernel."""
    return source[source.index("using Kernel") : source.index("using Gemm")]


def operands(source: str) -> list[tuple[str, str, int]]:
    """Element, layout and elements of one load, of a and b."""
    found = re.findall(r" +(\S+), cutlass::layout::(\w+), .*\n +cutlass::ComplexTransform::kNone, (\d+),", source)
    return [(element, layout, int(lanes)) for element, layout, lanes in found]


def test_the_symbol_hashes_the_configuration_and_neither_names_nor_sizes() -> None:
    first = linear(chain=" >> bias(bias)")
    assert re.fullmatch(r"mu_gemm_[0-9a-f]{12}", first.unit.symbol)
    assert linear(chain=" >> bias(bias)", m=512, k=256).unit.symbol == first.unit.symbol
    assert linear(".tile(64, 128, 32)", " >> bias(bias)").unit.symbol != first.unit.symbol


@pytest.mark.parametrize(
    ("form", "layouts", "leading"),
    [
        ("x, w.T", ("RowMajor", "ColumnMajor"), (192, 192)),
        ("x, w", ("RowMajor", "RowMajor"), (192, 384)),
        ("x.T, w.T", ("ColumnMajor", "ColumnMajor"), (256, 192)),
        ("x.T, w", ("ColumnMajor", "RowMajor"), (256, 384)),
    ],
)
@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_all_layouts_are_read_as_they_lie(
    form: str, layouts: tuple[str, str], leading: tuple[int, int], dtype: str
) -> None:
    made = linear(form=form, dtype=dtype)
    element, lanes = {"f16": ("cutlass::half_t", 8), "f32": ("float", 4)}[dtype]
    assert operands(made.unit.source) == [(element, layout, lanes) for layout in layouts]
    found = sizes(made)
    assert (found["ld_a"], found["ld_b"]) == leading


@pytest.mark.parametrize(
    ("dtype", "k", "lanes", "stages"),
    [("f16", 192, 8, 4), ("f16", 196, 4, 4), ("f16", 198, 2, 4), ("f16", 107, 1, 2), ("f32", 107, 1, 4)],
)
def test_the_widest_load_that_the_extents_allow_is_configuration(
    dtype: str, k: int, lanes: int, stages: int
) -> None:
    source = linear(k=k, dtype=dtype).unit.source
    assert [operand[2] for operand in operands(source)] == [lanes, lanes]
    assert f"\n    {stages}," in kernel(source)


def test_strides_and_offsets_count_as_extents_do() -> None:
    text = "program p(x: f16[M, L], w: f16[N, K]) -> f16[M, N]\n  y = gemm(x.slice(1, {0}, {1}), w.T)\n  return y\n"
    lanes = [
        operands(codes(text.format(start, start + 64), (64, width), (64, 64))["y"].unit.source)[0][2]
        for start, width in ((0, 128), (4, 128), (2, 128), (1, 128), (0, 68))
    ]
    assert lanes == [8, 4, 2, 1, 4]


@pytest.mark.parametrize(
    ("n", "out", "lanes"), [(384, "f16", 8), (384, "f32", 4), (390, "f16", 2), (105, "f32", 1)]
)
def test_stores_are_as_wide_as_the_result_allows(n: int, out: str, lanes: int) -> None:
    assert f"ResultLanes = {lanes};" in linear(f".out({out})", n=n, out=out).unit.source


@pytest.mark.parametrize(
    ("math", "operator", "depth"),
    [
        ("tf32", "OpMultiplyAdd", 8),
        ("tf32x3", "OpMultiplyAddFastF32", 8),
        ("f16", "OpMultiplyAddFastF16", 8),
        ("bf16", "OpMultiplyAddFastBF16", 8),
    ],
)
def test_fp32_is_rounded_or_split_on_its_way(math: str, operator: str, depth: int) -> None:
    source = linear(f".math({math})", dtype="f32").unit.source
    assert f"cutlass::arch::{operator}>::GemmKernel" in source
    assert f"using Instruction = cutlass::gemm::GemmShape<16, 8, {depth}>;" in source
    assert linear(f".math({math})", dtype="f32").workspace_bytes == 0


def test_sixteen_bit_operands_take_the_deeper_instruction() -> None:
    assert "GemmShape<16, 8, 16>" in linear(dtype="bf16").unit.source


def test_a_warp_s_part_of_the_tile_follows_from_the_warps() -> None:
    source = linear(".tile(128, 256, 32).warps(2, 4)").unit.source
    assert "using Warp = cutlass::gemm::GemmShape<64, 64, 32>;" in source


@pytest.mark.parametrize(
    ("link", "node"),
    [
        ("bias(bias)", "VisitorRowBroadcast<ThreadMap, float, Stride<_0, _1, _0>, false>"),
        ("mul(col)", "VisitorColBroadcast<ThreadMap, float, Stride<_1, _0, _0>, false>"),
        ("mul(one)", "VisitorScalarBroadcast<float, Stride<_0, _0, _0>>"),
        ("add(res)", "VisitorAuxLoad<ThreadMap, float, Stride<int64_t, _1, int64_t>>"),
        ("add(half)", "VisitorAuxLoad<ThreadMap, cutlass::half_t, Stride<int64_t, _1, int64_t>>"),
        ("add(turned.T)", "ElementLoad<ThreadMap, float>"),
    ],
)
def test_each_tensor_of_the_chain_is_loaded_by_the_node_that_fits_its_strides(link: str, node: str) -> None:
    source = linear(chain=f" >> {link}").unit.source
    assert f"    {node}" in source.replace("visitor::", "")
    assert ("struct ElementLoad" in source) == node.startswith("ElementLoad")


def test_what_falls_off_the_vectors_of_the_result_is_loaded_by_element() -> None:
    text = (
        "program p(x: f16[M, K], w: f16[N, K], wide: f32[L], res: f32[M, L]) -> f16[M, N]\n"
        "  y = gemm(x, w.T) >> bias(wide.slice(0, {0}, {1})) >> add(res.slice(1, {0}, {1}))\n  return y\n"
    )
    shapes = ((64, 64), (64, 64), (80,), (64, 80))
    assert "ElementLoad" not in codes(text.format(4, 68), *shapes)["y"].unit.source
    assert codes(text.format(2, 66), *shapes)["y"].unit.source.count("ElementLoad<ThreadMap, float>") == 2


def test_links_of_one_function_are_functors_and_sums_are_cutlass_s() -> None:
    source = linear(chain=" >> bias(bias) >> gelu()").unit.source
    assert "VisitorCompute<cutlass::plus, float, float, Round>" in source
    assert "VisitorCompute<Gelu1Of, float, float, Round>" in source
    assert "fn::gelu(acc)" in source


def test_only_divided_products_ask_for_workspace_and_the_function_checks_it() -> None:
    assert linear().workspace_bytes == 0
    split = linear(".tile(64, 64, 32).split(4)", k=1024)
    tiles = (256 // 64) * (384 // 64)
    # A compiled kernel asks for 32,768 bytes a block, and a flag.
    assert split.workspace_bytes >= tiles * 4 * (32_768 + 4)
    assert sizes(split)["workspace_bytes"] == split.workspace_bytes
    assert "> workspace_bytes) { return 4; }" in split.unit.source
    assert "{int(m), int(n), int(k)}, 4," in split.unit.source
    streamed = linear(".schedule(streamk)", k=4096)
    assert 0 < streamed.workspace_bytes <= 256 << 20
    assert "ThreadblockSwizzleStreamK" in streamed.unit.source


def test_a_split_needs_no_more_room_than_there_are_parts() -> None:
    few = linear(".tile(64, 64, 32).split(64)", k=64)
    assert few.workspace_bytes < 24 * 3 * 32_768


def test_a_batched_product_passes_batch_strides_and_a_shared_matrix_has_stride_zero() -> None:
    text = (
        "program p(a: bf16[M, K], b: bf16[B, K, N]) -> bf16[B, M, N]\n"
        "  y = bmm(a.unsqueeze(0).expand(6, 256, 192), b)\n  return y\n"
    )
    made = codes(text, (256, 192), (6, 192, 384))["y"]
    found = sizes(made)
    assert (found["batch"], found["batch_a"], found["batch_b"]) == (6, 0, 192 * 384)
    assert "GemmUniversalMode::kBatched, {int(m), int(n), int(k)}, int(batch)," in made.unit.source


def test_full_fp32_is_the_plain_kernel_of_all_cards() -> None:
    source = codes(SQUARE.format(".math(f32)"), (64, 64), (64, 64), policy=Policy.STRICT)["y"].unit.source
    assert "cutlass" not in source
    assert "product<<<" in source


def test_a_whole_program_has_one_unit_a_stage() -> None:
    text = SQUARE.format("").replace("  return y", "  z = softmax(y)\n  return z")
    emission = emit(checked(text, (64, 64), (64, 64)))
    assert [unit.symbol.split("_")[1] for unit in emission.units] == ["gemm", "softmax"]
    assert emission.target == "sm_80"


def test_stages_that_no_mainloop_has_are_refused() -> None:
    (stage,) = checked(SQUARE.format(".stages(3)"), (64, 64), (64, 64)).stages
    with pytest.raises(KnobWithoutCode, match="3 to 16 with these operands"):
        emit_stage(replace(stage, knobs={**stage.knobs, "stages": 2}), None)


def test_a_way_to_multiply_without_an_instruction_is_refused() -> None:
    (stage,) = checked(SQUARE.format(""), (64, 64), (64, 64)).stages
    with pytest.raises(KnobWithoutCode, match="bf16x6"):
        emit_stage(replace(stage, attributes={**stage.attributes, "math": "bf16x6"}), None)


KNOBS: dict[str, Any] = {
    "tile": [64, 64, 32],
    "warps": [2, 2],
    "stages": 4,
    "swizzle": 8,
    "split": 1,
    "schedule": "auto",
}


def test_an_operand_without_a_contiguous_side_is_refused() -> None:
    a = tensor("x", F16, (64, 64), (256, 2))
    with pytest.raises(OperandHasNoContiguousExtent, match="256, 2"):
        emit_stage(product(a, tensor("w", F16, (64, 64)), out=F16, **KNOBS), None)


def test_a_chain_reads_floats_alone() -> None:
    a, b = tensor("x", F16, (64, 64)), transposed(tensor("w", F16, (64, 64)))
    whole = tensor("i", DType.I32, (64, 64))
    with pytest.raises(ElementTypeWithoutCode, match="i32"):
        emit_stage(product(a, b, [step("add(i)", call("add", ACC, load(whole, (64, 64))))], F16, **KNOBS), None)


def test_an_op_of_the_library_has_no_code() -> None:
    stage = replace(product(tensor("x", F32, (64, 64)), tensor("w", F32, (64, 64)), **KNOBS), op="torch")
    with pytest.raises(OperationWithoutCode, match="sm_80 code has no stage 'torch'"):
        emit_stage(stage, None)
