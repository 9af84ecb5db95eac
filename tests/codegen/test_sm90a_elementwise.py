"""map, cast and FP32 products of the sm_90a target, run on the CPU by an emulation of CUDA's threads."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.expression import text
from kernels.codegen.cuda.functions import FUNCTIONS as CUDA_FUNCTIONS
from kernels.codegen.cuda.functions import definitions
from kernels.codegen.cuda.space import Space, lanes, merge
from kernels.codegen.sm90a import emit_stage
from kernels.dsl.functions import FUNCTIONS
from kernels.dsl.ir import Stage, Value
from kernels.dtypes import DType
from tests.codegen.sm90a_emulation import Emulated, compile_for_cpu
from tests.codegen.sm90a_stages import (
    ACC,
    F16,
    F32,
    call,
    cast,
    elementwise,
    load,
    product,
    step,
    tensor,
    transposed,
)

torch = pytest.importorskip("torch")


def view(data: Any, value: Value) -> Any:
    """The torch tensor that a value shows of its storage."""
    return torch.as_strided(data, value.shape, value.strides, value.offset)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps what was built: stages of one configuration share a library, whatever their sizes."""
    return tmp_path_factory.mktemp("built")


def run(stage: Stage, inputs: list[Any], folder: Path) -> Any:
    """The stage's result, run by the emulation."""
    result = torch.full(stage.result.shape, float("nan"), dtype=torch.float64)
    result = result.to(getattr(torch, stage.result.dtype.torch_name))
    Emulated(emit_stage(stage, None), folder)(inputs, result)
    return result


def test_extents_are_merged_where_all_operands_step_through_them_evenly() -> None:
    shape = (5, 4, 8)
    flat, row, column = (32, 8, 1), (0, 0, 1), (4, 1, 0)
    assert merge(shape, (flat,)) == Space((160,), ((1,),))
    assert merge(shape, (flat, row)) == Space((20, 8), ((8, 1), (0, 1)))
    assert merge(shape, (flat, column)) == Space((20, 8), ((8, 1), (1, 0)))
    assert merge((1, 7, 1), ((7, 1, 1),)) == Space((7,), ((1,),))
    assert merge((1,), ((1,),)) == Space((1,), ((0,),))


def test_lanes_are_as_wide_as_every_operand_allows() -> None:
    y = tensor("y", F32, (4, 64))
    aligned, shifted = tensor("x", F32, (4, 64)), tensor("x", F32, (4, 64), None, 2)
    assert lanes(Space((256,), ((1,),)), (aligned,), y, 0) == 4
    assert lanes(Space((256,), ((1,),)), (aligned,), y, 2) == 2
    assert lanes(Space((256,), ((1,),)), (shifted,), y, 0) == 2
    assert lanes(Space((254,), ((1,),)), (aligned,), y, 0) == 2
    assert lanes(Space((4, 64), ((1, 4),)), (aligned,), y, 0) == 1
    assert lanes(Space((256,), ((1,),)), (tensor("x", F16, (256,)),), tensor("y", F16, (256,)), 0) == 8


def test_a_flat_map_needs_one_size_and_no_division() -> None:
    value = tensor("x", F32, (64, 32))
    made = emit_stage(elementwise((64, 32), [step("relu(x)", call("relu", load(value, (64, 32))))], [value]), None)
    assert made.sizes == (2048,)
    assert "%" not in made.unit.source
    assert "constexpr int Lanes = 4;" in made.unit.source


def test_a_map_with_a_row_a_column_and_a_scalar_is_torchs(built: Path) -> None:
    shape = (6, 40)
    x, row, column, one = (tensor(n, F32, s) for n, s in (("x", shape), ("r", (40,)), ("c", (6, 1)), ("s", (1,))))
    stage = elementwise(
        shape,
        [
            step("x * r + c", call("add", call("mul", load(x, shape), load(row, shape)), load(column, shape))),
            step("div(s)", call("div", ACC, load(one, shape))),
            step("tanh()", call("tanh", ACC)),
        ],
        [x, row, column, one],
    )
    data = [torch.randn(shape), torch.randn(40), torch.randn(6, 1), torch.rand(1) + 1]
    expected = torch.tanh((data[0] * data[1] + data[2]) / data[3])
    torch.testing.assert_close(run(stage, data, built), expected)


@pytest.mark.parametrize("shape", [(3, 5, 7), (4, 6, 8), (1, 9, 1)])
def test_a_map_of_permuted_and_sliced_views_is_torchs(shape: tuple[int, ...], built: Path) -> None:
    outer, middle, inner = shape
    x = Value("x.permute", F32, shape, (1, outer, outer * middle), 0, "x")
    z = Value("z.slice", F32, shape, (2 * middle * inner, inner, 1), middle * inner, "z")
    stage = elementwise(shape, [step("x - z", call("sub", load(x, shape), load(z, shape)))], [x, z])
    data = [torch.randn(outer * middle * inner), torch.randn(2 * outer * middle * inner)]
    shown = [view(data[0], x), view(data[1], z)]
    torch.testing.assert_close(run(stage, shown, built), shown[0] - shown[1])


def test_integers_are_computed_in_double(built: Path) -> None:
    value = tensor("i", DType.I64, (33,))
    stage = elementwise((33,), [step("i * 2", call("mul", load(value, (33,)), 2.0))], [value], out=DType.I64)
    data = torch.arange(33) + 2**40
    assert torch.equal(run(stage, [data], built), data * 2)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (DType.F32, DType.I32),
        (DType.I64, DType.F32),
        (DType.F32, DType.BOOL),
        (DType.BOOL, DType.F64),
        (DType.U8, DType.F32),
    ],
)
def test_casts_are_torchs(source: DType, target: DType, built: Path) -> None:
    value = transposed(tensor("x", source, (8, 12)))
    data = (torch.randn(8, 12) * 3).abs().to(getattr(torch, source.torch_name))
    data[0, 0] = 0
    expected = data.T.to(getattr(torch, target.torch_name)).contiguous()
    assert torch.equal(run(cast(value, target), [data], built), expected)


def test_half_types_convert_through_float() -> None:
    text = emit_stage(cast(tensor("x", F16, (64,)), DType.BF16), None).unit.source
    assert "__nv_bfloat16(float(in0.lane[i]))" in text
    assert "constexpr int Lanes = 8;" in text


def test_a_block_that_cuda_does_not_allow_is_refused() -> None:
    with pytest.raises(KnobWithoutCode, match="multiple of 32"):
        emit_stage(cast(tensor("x", F16, (64,)), F32, threads=48), None)


@pytest.mark.parametrize("shapes", [((70, 33), (33, 45)), ((128, 64), (64, 128)), ((3, 1), (1, 5))])
@pytest.mark.parametrize("turned", [False, True])
def test_a_full_fp32_product_is_torchs(shapes: Any, turned: bool, built: Path) -> None:
    (m, k), (_, n) = shapes
    a = transposed(tensor("a", F32, (k, m))) if turned else tensor("a", F32, (m, k))
    b = transposed(tensor("b", F32, (n, k))) if turned else tensor("b", F32, (k, n))
    bias = tensor("bias", F32, (n,))
    chain = [step("bias(bias)", call("add", ACC, load(bias, (m, n)))), step("silu()", call("silu", ACC))]
    data = [torch.randn(a.shape[::-1] if turned else a.shape), torch.randn(b.shape[::-1] if turned else b.shape)]
    shift = torch.randn(n)
    left, right = (each.T if turned else each for each in data)
    stage = product(a, b, chain, math="f32", tile=[32, 64, 8])
    expected = torch.nn.functional.silu(left.double() @ right.double() + shift).float()
    torch.testing.assert_close(run(stage, [*data, shift], built), expected, rtol=1e-5, atol=1e-5)


def test_a_batched_fp32_product_is_torchs(built: Path) -> None:
    a, b = tensor("a", F32, (3, 17, 9)), tensor("b", F32, (3, 9, 11))
    column = tensor("c", F32, (3, 17, 1))
    stage = product(
        a, b, [step("mul(c)", call("mul", ACC, load(column, (3, 17, 11))))], math="f32", tile=[32, 64, 4]
    )
    data = [torch.randn(3, 17, 9), torch.randn(3, 9, 11), torch.randn(3, 17, 1)]
    torch.testing.assert_close(run(stage, data, built), (data[0] @ data[1]) * data[2], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tile", [[128, 256, 64], [100, 128, 8], [8, 8, 8]])
def test_a_tile_that_a_block_cannot_hold_is_refused(tile: list[int]) -> None:
    with pytest.raises(KnobWithoutCode, match="multiples of 8"):
        emit_stage(product(tensor("a", F32, (64, 64)), tensor("b", F32, (64, 64)), math="f32", tile=tile), None)


def test_every_function_of_the_language_has_cuda_text() -> None:
    assert set(FUNCTIONS) <= set(CUDA_FUNCTIONS)


def test_every_function_means_what_torch_means(built: Path) -> None:
    """Over ordinary and awkward numbers, in FP64."""
    awkward = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 25.0, -25.0, 1e-4, float("nan"), float("inf"), -float("inf")]
    x = torch.cat([torch.tensor(awkward, dtype=torch.float64), torch.linspace(-7, 7, 51, dtype=torch.float64)])
    y = x.roll(5)
    z = x.roll(11)
    library = ctypes.CDLL(str(_all_functions(built)))
    for name, function in FUNCTIONS.items():
        numbers = {key: 0.75 if value is None else value for key, value in function.params}
        found = torch.empty_like(x)
        pointers = [ctypes.c_void_p(data.data_ptr()) for data in (x, y, z, found)]
        getattr(library, f"all_{name}")(*pointers, len(x))
        expected = eval(function.meaning, {"torch": torch, "x": x, "y": y, "z": z, **numbers}).double()
        torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-9, atol=1e-12, msg=name)


@pytest.mark.parametrize("name", ["sigmoid", "gelu", "gelu_tanh", "silu"])
def test_functions_with_a_form_of_their_own_in_fp32_keep_its_precision(built: Path, name: str) -> None:
    x = torch.cat([torch.linspace(-9, 9, 4001), torch.tensor([float("nan"), float("inf"), -80.0, 80.0])])
    library = ctypes.CDLL(str(_all_functions(built, "float")))
    found = torch.empty_like(x)
    pointers = [ctypes.c_void_p(data.data_ptr()) for data in (x, x, x, found)]
    getattr(library, f"all_{name}")(*pointers, len(x))
    expected = eval(FUNCTIONS[name].meaning, {"torch": torch, "x": x.double()}).float()
    torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-6, atol=3e-7)


def _all_functions(folder: Path, number: str = "double") -> Path:
    """A library with a loop over numbers for each function of the language, around the generator's own text."""
    rows = [definitions(set(FUNCTIONS))]
    for name, function in FUNCTIONS.items():
        loads = [load(tensor(operand, DType.F64, (1,)), (1,)) for operand in "xyz"[: function.arity]]
        numbers = [0.75 if value is None else value for _, value in function.params]
        expression = text(call(name, *loads, *numbers), {"x": "x[i]", "y": "y[i]", "z": "z[i]"}, number, name)
        tensors = ", ".join(f"{number}* {operand}" for operand in ("x", "y", "z", "to"))
        rows.append(f'extern "C" void all_{name}({tensors}, int count) {{')
        rows.append(f"  for (int i = 0; i < count; ++i) {{ to[i] = {expression}; }}")
        rows.append("}")
    library = folder / f"functions_{number}.so"
    compile_for_cpu("\n".join(rows), library)
    return library
