"""Products reduced on sm_90a: which node of CUTLASS's tree, where partial results go, and the kernel that joins them.

The kernel is run on the CPU, over partial results made by torch.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from kernels.codegen.cuda.arguments import Arguments
from kernels.codegen.cuda.frame import stage_code, write_signature
from kernels.codegen.cuda.origins import Origins
from kernels.codegen.cuda.writer import SYMBOL, SourceWriter
from kernels.codegen.emission import StageCode
from kernels.codegen.errors import OperationWithoutCode
from kernels.codegen.sm80 import emit_stage as emit_sm80
from kernels.codegen.sm90a import emit_stage
from kernels.codegen.sm90a.orientation import Orientation
from kernels.codegen.sm90a.reduction import plan_joining
from kernels.dsl.ir import Reduction, Stage, Value
from kernels.dtypes import DType
from tests.codegen.sm90a_emulation import Emulated
from tests.codegen.sm90a_stages import ACC, BF16, F16, F32, call, load, product, span, step, tensor, transposed

KINDS = ["sum", "mean", "max", "min"]
# What a unit has of CUTLASS without its headers.
_CUTLASS = """
namespace cutlass {
template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct maximum_with_nan_propagation {
  T operator()(T a, T b) const { return a > b || a != a ? a : b; }
};
template <class T> struct minimum_with_nan_propagation {
  T operator()(T a, T b) const { return a < b || a != a ? a : b; }
};
using half_t = _Float16;
}
"""


def reduced(stage: Stage, kind: str, axis: int) -> Stage:
    """The stage with a reduction over dimension ``axis`` behind its chain."""
    kept = (*stage.result.shape[:axis], *stage.result.shape[axis + 1 :])
    reduction = Reduction(kind, axis, False, f"reduce({kind}, dim={axis})", span(1))
    return replace(stage, results=(tensor("y", stage.result.dtype, kept),), reduction=reduction)


def linear(dtype: DType = F16, m: int = 256, n: int = 384, **knobs: Any) -> Stage:
    a, w = tensor("x", dtype, (m, 192)), tensor("w", dtype, (n, 192))
    return product(a, transposed(w), out=dtype, **knobs)


def turned(**knobs: Any) -> Stage:
    """A tf32 product that CUTLASS is given transposed."""
    return product(tensor("a", F32, (256, 192)), tensor("b", F32, (192, 384)), tile=[128, 64, 32], **knobs)


def sizes(made: StageCode) -> dict[str, int]:
    head = made.unit.source[made.unit.source.index('extern "C"') :]
    return dict(zip(re.findall(r"int64_t (\w+)", head[: head.index("{")]), made.sizes, strict=True))


@pytest.mark.parametrize(
    ("stage", "axis", "node", "stride"),
    [
        (linear(), 1, "Col", "_1, _0, _0"),
        (linear(), 0, "Row", "_0, _1, _0"),
        (turned(), 1, "Row", "_0, _1, _0"),
        (turned(), 0, "Col", "_1, _0, _0"),
    ],
)
def test_columns_are_cutlass_s_unless_it_multiplies_transposed(
    stage: Stage, axis: int, node: str, stride: str
) -> None:
    text = emit_stage(reduced(stage, "sum", axis), None).unit.source
    assert f"fusion::Sm90{node}Reduction<Join, Join, Join, 0, Tile, float, float, Round," in text
    assert f"Stride<{stride}>, 4, false, false>," in text
    assert ("Multiplied as y^T" in text) == stage.operands[0].name.startswith("a")


@pytest.mark.parametrize(
    ("kind", "functor", "nothing"),
    [
        ("sum", "plus", "0.0f"),
        ("mean", "plus", "0.0f"),
        ("max", "maximum_with_nan_propagation", "-INFINITY"),
        ("min", "minimum_with_nan_propagation", "INFINITY"),
    ],
)
def test_each_kind_has_its_functor_and_what_changes_nothing(kind: str, functor: str, nothing: str) -> None:
    text = emit_stage(reduced(linear(), kind, 1), None).unit.source
    assert f"using Join = cutlass::{functor}<T>;" in text
    assert f"constexpr float Nothing = {nothing};" in text
    assert ("/ p.summed" in text) == (kind == "mean")


def test_the_product_is_not_stored_and_its_rows_need_no_alignment() -> None:
    text = emit_stage(reduced(linear(n=333), "sum", 1), None).unit.source
    assert re.search(r"    void, cutlass::layout::RowMajor, 4, +// no D", text)
    assert "{reduced_arguments, nullptr, {n, _1{}, m * n}, nullptr, {n, _1{}, m * n}}," in text
    assert "static_cast<Result*>(y)" in text


def test_links_work_in_f32_up_to_the_reduction() -> None:
    chain = [step("add(b)", call("add", ACC, load(tensor("b", F32, (384,)), (256, 384))))]
    stage = product(tensor("x", F16, (256, 192)), transposed(tensor("w", F16, (384, 192))), chain, acc="f16")
    text = emit_stage(reduced(stage, "sum", 1), None).unit.source
    assert "fusion::Sm90Compute<cutlass::plus, float, float, Round>," in text
    assert "    Add0>;" in text


@pytest.mark.parametrize(("axis", "padded", "tiles"), [(1, 1536, 3), (0, 384, 12)], ids=["columns", "rows"])
def test_partial_results_have_room_for_whole_tiles(axis: int, padded: int, tiles: int) -> None:
    made = emit_stage(reduced(linear(m=1471, n=300), "sum", axis), None)
    assert made.workspace_bytes == padded * tiles * 4
    assert sizes(made)["offset_partials"] == 0


def test_a_transposed_product_s_tile_is_turned_too() -> None:
    # m of the tile, 128, runs along the 384 columns; n, 64, along the 256 rows.
    assert emit_stage(reduced(turned(), "sum", 1), None).workspace_bytes == 256 * 3 * 4
    assert emit_stage(reduced(turned(), "sum", 0), None).workspace_bytes == 384 * 4 * 4


def test_a_batch_has_partial_results_of_its_own() -> None:
    a, b = tensor("a", BF16, (5, 200, 64)), tensor("b", BF16, (5, 64, 136))
    made = emit_stage(reduced(product(a, b, out=BF16), "max", 2), None)
    assert made.workspace_bytes == 5 * 256 * 2 * 4
    assert "batch * m, m, (m + 127) / 128 * 128," in made.unit.source


def test_partial_results_lie_behind_copies_at_a_whole_line() -> None:
    a, b = tensor("a", F32, (100, 33)), transposed(tensor("b", F32, (128, 33)))
    stage = product(a, b, math="bf16", tile=[128, 128, 64])
    alone, made = emit_stage(stage, None).workspace_bytes, emit_stage(reduced(stage, "sum", 1), None)
    start = sizes(made)["offset_partials"]
    assert start % 128 == 0
    assert alone <= start < alone + 128
    assert made.workspace_bytes == start + 128 * 4


def joining_unit(stage: Stage) -> StageCode:
    """The kernel that joins, alone, called on partial results in the place of a product's operands."""
    joining = plan_joining(stage, Orientation(False))
    assert joining is not None
    out, arguments = SourceWriter(), Arguments()
    arguments.pointer("from", "partials")
    for name in ("batch", "m", "n"):
        arguments.size(name, stage.attributes.get(name, 1))
    out.lines(_CUTLASS)
    out.line(f"namespace {SYMBOL}_types {{")
    joining.write_join(out)
    joining.write_kernel(out)
    out.line(f"}}  // namespace {SYMBOL}_types")
    write_signature(out, arguments, Origins(stage, None), "y")
    out.line("  cudaStream_t on = static_cast<cudaStream_t>(stream);")
    out.line("  float* partials = static_cast<float*>(const_cast<void*>(from));")
    joining.write_launch(out)
    return stage_code(out, stage, arguments)


def tiled(value: torch.Tensor, kind: str, axis: int, tile: tuple[int, int]) -> torch.Tensor:
    """Partial results as CUTLASS lays them out, [batch, tiles, kept]; what lies outside the product is NaN."""
    turned_value = value if axis == 2 else value.transpose(1, 2)
    kept_tile, summed_tile = tile if axis == 2 else tile[::-1]
    batch, kept, _ = turned_value.shape
    name = {"max": "amax", "min": "amin"}.get(kind, "sum")
    parts = [getattr(torch, name)(part, 2) for part in turned_value.split(summed_tile, 2)]
    padded = torch.full((batch, len(parts), -(-kept // kept_tile) * kept_tile), float("nan"))
    padded[:, :, :kept] = torch.stack(parts, 1)
    return padded


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 300, 77), (3, 130, 40), (2, 17, 2000)])
@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_tiles_are_joined(kind: str, axis: int, shape: tuple[int, int, int], tmp_path: Path) -> None:
    batch, m, n = shape
    a, b = tensor("a", F16, (batch, m, 8)), tensor("b", F16, (batch, 8, n))
    stage = reduced(product(a, b, out=F32, tile=[64, 16, 64]), kind, axis)
    value = torch.randn(shape, generator=torch.Generator().manual_seed(m + n))
    result = torch.full((batch, m if axis == 2 else n), float("nan"))
    Emulated(joining_unit(stage), tmp_path)([tiled(value, kind, axis, (64, 16))], result)
    exact = getattr(torch, {"max": "amax", "min": "amin"}.get(kind, kind))(value.double(), axis)
    assert torch.allclose(result.double(), exact, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_nan_in_a_tile_is_the_result_s(kind: str, tmp_path: Path) -> None:
    a, b = tensor("a", F16, (1, 40, 8)), tensor("b", F16, (1, 8, 300))
    stage = reduced(product(a, b, out=F32, tile=[64, 16, 64]), kind, 2)
    value = torch.zeros(1, 40, 300)
    value[0, 7, 123] = float("nan")
    result = torch.empty(1, 40)
    Emulated(joining_unit(stage), tmp_path)([tiled(value, kind, 2, (64, 16))], result)
    assert result.isnan().nonzero().tolist() == [[0, 7]]


@pytest.mark.parametrize("knobs", [{"math": "f32"}, {}])
def test_generators_without_a_reduction_refuse_it(knobs: dict[str, Any]) -> None:
    stage = reduced(
        product(Value("a", F32, (64, 64), (64, 1), 0, "a"), tensor("b", F32, (64, 64)), **knobs), "sum", 1
    )
    emit = emit_stage if knobs else emit_sm80
    with pytest.raises(OperationWithoutCode, match=r"no stage 'reduce\(sum, dim=1\)'; it has the stage reduce"):
        emit(stage, None)
