"""The grouped collective: one unit for all products, sizes at run time, what is written into its workspace."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from kernels.codegen import emit
from kernels.codegen.cuda.errors import OperandIsNotAligned
from kernels.codegen.emission import Launch
from kernels.codegen.sm90a.grouped import emit_grouped
from kernels.dsl.ir import CheckedProgram, Stage
from kernels.targets import Policy, Target
from tests.codegen.sm90a_stages import F16, GEMM_KNOBS, span, tensor, transposed
from tests.dsl.programs import checked, signature


def two(
    dtype: str = "f16", knobs: str = "", policy: Policy = Policy.HALF, k: tuple[int, int] = (64, 40)
) -> CheckedProgram:
    """a[100, k] b[96, k].T and c[33, j] d[128, j].T, with a chain."""
    tensors = f"a {dtype} 100 {k[0]}; b {dtype} 96 {k[0]}; c {dtype} 33 {k[1]}; d {dtype} 128 {k[1]}"
    problem = signature(tensors, "", f"y {dtype} 100 96; z {dtype} 33 128")
    head = f"a: {dtype}[M, K], b: {dtype}[N, K], c: {dtype}[L, J], d: {dtype}[P, J]"
    text = f"""program p({head}) -> {dtype}[M, N], {dtype}[L, P]
  y = grouped_gemm([a, c], [b.T, d.T]){knobs} >> scale(0.5) >> relu()
  return y.0, y.1"""
    return checked(text, problem, Target.SM90A, policy)


def launch(program: CheckedProgram) -> tuple[Launch, str]:
    emission = emit(program)
    (step,) = emission.plan.steps
    assert isinstance(step, Launch)
    return step, emission.units[0].source


def sizes(program: CheckedProgram) -> dict[str, int]:
    step, source = launch(program)
    head = source[source.index('extern "C"') :]
    return dict(zip(re.findall(r"int64_t (\w+)", head[: head.index("{")]), step.sizes, strict=True))


def test_a_group_of_two(golden: Callable[[str], None]) -> None:
    golden(launch(two(knobs=".tile(128, 128, 64).swizzle(2).raster(n)"))[1])


def test_a_group_of_split_products(golden: Callable[[str], None]) -> None:
    golden(launch(two("f32", policy=Policy.STRICT, k=(63, 41)))[1])


def test_the_call_takes_all_operands_then_all_results() -> None:
    step, source = launch(two())
    assert (step.pointers, step.results) == (("a", "b.T", "c", "d.T"), ("y.0", "y.1"))
    assert "const void* a0, const void* b0, const void* a1, const void* b1, void* y0, void* y1," in source
    found = sizes(two())
    assert {name: found[name] for name in ("m0", "n0", "k0", "m1", "n1", "k1")} == {
        "m0": 100, "n0": 96, "k0": 64, "m1": 33, "n1": 128, "k1": 40,
    }  # fmt: skip
    assert (found["ld_a0"], found["ld_b1"]) == (64, 40)


def test_sizes_are_no_configuration_and_the_number_of_products_is() -> None:
    first, other = (emit(two(k=k)).units[0].symbol for k in ((64, 40), (128, 256)))
    assert first == other
    assert "constexpr int Count = 2;" in launch(two())[1]


@pytest.mark.parametrize("schedule", ["Cooperative", "Pingpong"])
def test_mainloop_and_epilogue_are_those_of_pointer_arrays(schedule: str) -> None:
    knobs = ".tile(128, 128, 64)" if schedule == "Cooperative" else ".tile(64, 128, 64)"
    source = launch(two(knobs=knobs))[1]
    assert f"cutlass::gemm::KernelPtrArrayTmaWarpSpecialized{schedule}>::CollectiveOp" in source
    assert f"cutlass::epilogue::PtrArrayTmaWarpSpecialized{schedule}, Relu1>::CollectiveOp" in source
    assert "cutlass::gemm::GroupProblemShape<Shape<int, int, int>>" in source
    assert source.count("cutlass::layout::RowMajor *,") == 3


def test_the_workspace_holds_copies_groups_and_tensor_maps_in_this_order() -> None:
    found = sizes(two("f32", policy=Policy.STRICT, k=(63, 41)))
    rows, odd = 6 * 64 * 2, 6 * 48 * 2
    ends = [100 * rows, 96 * rows, 33 * odd, 128 * odd]
    places, at = [], 0
    for size in ends:
        places.append(at)
        at += -(-size // 256) * 256
    assert [found[f"offset_{name}"] for name in ("a0", "b0", "a1", "b1")] == places
    assert found["offset_groups"] == at
    assert found["offset_scratch"] == at + 256
    assert found["workspace_bytes"] >= at + 256 + 132 * 5 * 128
    assert launch(two("f32", policy=Policy.STRICT, k=(63, 41)))[0].workspace_bytes == found["workspace_bytes"]


def test_f32_is_read_where_it_is_with_math_tf32_alone() -> None:
    assert "copy_parts" not in launch(two("f32", ".math(tf32)"))[1]
    assert launch(two("f32", ".math(bf16x3)"))[1].count("  copy_parts<false>(") == 4


def test_what_tma_cannot_write_is_refused_by_name() -> None:
    a, b = tensor("a", F16, (8, 16)), transposed(tensor("b", F16, (12, 16)))
    attributes = {"sizes": ((8, 12, 16),), "math": "f16", "acc": "f32"}
    stage = Stage(
        name="y", op="grouped_gemm", operands=(a, b), results=(tensor("y", F16, (8, 12)),),
        knobs=GEMM_KNOBS | {"math": "f16"}, written=frozenset(), chain=(), attributes=attributes, once=False,
        span=span(1),
    )  # fmt: skip
    with pytest.raises(OperandIsNotAligned, match="12"):
        emit_grouped(stage, None)
