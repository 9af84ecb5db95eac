"""relayout, pad, pools and maps of turned operands on a card, run on the CPU by an emulation of CUDA's threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kernels.codegen.cuda.elementwise import emit_elementwise
from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.pool import Reads, choose_reads
from kernels.codegen.emission import StageCode
from kernels.codegen.errors import ElementTypeWithoutCode
from kernels.codegen.sm90a import emit_stage
from kernels.dsl import check, parse
from kernels.dsl.ir import CheckedProgram, Value
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Policy, Target
from tests.codegen.sm90a_emulation import Emulated
from tests.codegen.sm90a_stages import F16, F32, call, elementwise, load, step, tensor

torch = pytest.importorskip("torch")
functional = torch.nn.functional

CHANNELS_LAST = "  c = relayout(x, channels_last)\n"
TOLERANCE = {"float16": 2e-3, "bfloat16": 1e-2}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps what was built."""
    return tmp_path_factory.mktemp("built")


def spec(name: str, data: Any) -> TensorSpec:
    return TensorSpec(name, DType.from_torch(str(data.dtype)), tuple(data.shape))


def checked(text: str, given: Mapping[str, Any], exact: Any, first: str = "") -> CheckedProgram:
    """``y = text`` over the tensors ``given``, as the checker has it."""
    inputs = tuple(spec(name, data) for name, data in given.items())
    head = ", ".join(f"{each.name}: {each.dtype}{list(each.shape)}" for each in inputs)
    output = spec("y", exact)
    program = f"program p({head}) -> {output.dtype}{list(output.shape)}\n{first}  y = {text}\n  return y"
    return check(parse(program), Signature(inputs, (), (output,), {}), Target.SM90A, Policy.HALF)


def run(text: str, given: Mapping[str, Any], exact: Any, folder: Path, first: str = "") -> Any:
    """What the stages give, each run by the emulation."""
    program = checked(text, given, exact, first)
    memory = dict(given)
    values = {value.name: value for value in program.values}
    for stage in program.stages:
        code = emit_stage(stage, None)
        values |= {value.name: value for value in (*stage.operands, *stage.results)}
        read = [shown(memory, values[name]) for name in code.pointers]
        memory[stage.name] = torch.full((stage.result.elements,), math.nan, dtype=torch.float64).to(
            getattr(torch, stage.result.dtype.torch_name)
        )
        Emulated(code, folder)(read, memory[stage.name])
    return shown(memory, program.outputs[0])


def shown(memory: Mapping[str, Any], value: Value) -> Any:
    return torch.as_strided(memory[value.storage], value.shape, value.strides, value.offset)


def assert_close(made: Any, exact: Any) -> None:
    near = TOLERANCE.get(str(made.dtype).removeprefix("torch."), 1e-5)
    torch.testing.assert_close(made, exact.to(made.dtype), rtol=near, atol=near, equal_nan=True)


def last_code(text: str, given: Mapping[str, Any], exact: Any, first: str = "") -> StageCode:
    return emit_stage(checked(text, given, exact, first).stages[-1], None)


# Turned operands.


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i64", "i8", "bool"])
@pytest.mark.parametrize("layout", ["channels_last", "column_major"])
def test_relayout_moves_every_type(dtype: str, layout: str, built: Path) -> None:
    x = (torch.randn(2, 5, 6, 12) * 20).to(getattr(torch, DType(dtype).torch_name))
    assert torch.equal(run(f"relayout(x, {layout})", {"x": x}, x, built), x)


@pytest.mark.parametrize("shape", [(2, 3, 33, 31), (1, 70, 5, 20), (2, 1, 9, 9), (3, 100, 1, 1), (2, 8, 8, 64)])
def test_channels_last_and_back_changes_nothing(shape: tuple[int, ...], built: Path) -> None:
    x = torch.randn(shape)
    assert torch.equal(run("relayout(c, row_major)", {"x": x}, x, built, CHANNELS_LAST), x)


def test_several_tiles_of_a_matrix(built: Path) -> None:
    x, z = torch.randn(132, 200), torch.randn(200)
    exact = torch.tanh(x.T) * z[:, None]
    given = {"x": x, "z": z}
    assert_close(run("map(tanh(x.T) * z.unsqueeze(1))", given, exact, built), exact)
    code = last_code("map(tanh(x.T) * z.unsqueeze(1))", given, exact)
    assert "constexpr int Rows = 64, Columns = 64;" in code.unit.source
    assert "constexpr int RowLanes = 4;" in code.unit.source
    assert "constexpr int Lanes = 4;" in code.unit.source


def test_two_turned_operands_and_one_that_lies_as_the_result(built: Path) -> None:
    a, b, c = torch.randn(3, 70, 40), torch.randn(3, 70, 40).half(), torch.randn(3, 40, 70)
    exact = a.mT * b.mT.float() + c
    assert_close(run("map(a.permute(0, 2, 1) * b.T + c)", {"a": a, "b": b, "c": c}, exact, built), exact)


def test_a_cast_of_a_transpose(built: Path) -> None:
    x = torch.randn(65, 34)
    assert torch.equal(run("cast(x.T, f16)", {"x": x}, x.T.half(), built), x.T.half())


def test_a_view_between_vectors_is_turned_element_by_element(built: Path) -> None:
    x = torch.randn(37, 66)
    exact = x[:, 3:44].T * 2
    text = "map(x.slice(1, 3, 44).T * 2)"
    assert_close(run(text, {"x": x}, exact, built), exact)
    assert "constexpr int RowLanes = 1;" in last_code(text, {"x": x}, exact).unit.source


def test_short_extents_get_long_tiles(built: Path) -> None:
    x = torch.randn(1, 3, 40, 60)
    source = last_code("relayout(x, channels_last)", {"x": x}, x).unit.source
    assert "constexpr int Rows = 1024, Columns = 4;" in source


def test_shared_memory_holds_the_tiles_of_wide_types() -> None:
    a, b = (tensor(name, DType.F64, (512, 256)) for name in "ab")
    turned = [Value(each.name, each.dtype, (256, 512), (1, 256), 0, each.name) for each in (a, b)]
    expr = call("add", *(load(each, (256, 512)) for each in turned))
    stage = elementwise((256, 512), [step("a.T + b.T", expr)], turned, out=DType.F64)
    assert "constexpr int Rows = 32, Columns = 64;" in emit_elementwise(stage, None).unit.source


# Borders.


@pytest.mark.parametrize("first", ["", CHANNELS_LAST], ids=["row_major", "channels_last"])
@pytest.mark.parametrize(
    "border", [(0, 5), (3, 0), (1, 2, 3, 4), (0, 0, 0, 0, 0, 5), (1, 2, 3, 4, 5, 6, 1, 0), (4, 8)]
)
def test_pad_is_torchs(border: tuple[int, ...], first: str, built: Path) -> None:
    x = torch.randn(2, 3, 5, 8)
    exact = functional.pad(x, border, value=2.5)
    name = "c" if first else "x"
    assert torch.equal(run(f"pad({name}, {border}, value=2.5)", {"x": x}, exact, built, first), exact)


@pytest.mark.parametrize(
    ("dtype", "border"),
    [("f64", "-inf"), ("f16", "1.5"), ("bf16", "-3"), ("i64", "-7"), ("u8", "9"), ("bool", "1")],
)
def test_pad_takes_every_type(dtype: str, border: str, built: Path) -> None:
    x = (torch.randn(4, 50) * 9).abs().to(getattr(torch, DType(dtype).torch_name))
    exact = functional.pad(x, (3, 2), value=float(border))
    assert torch.equal(run(f"pad(x, (3, 2), value={border})", {"x": x}, exact, built), exact)


def test_a_view_is_padded_in_place_of_a_copy(built: Path) -> None:
    x = torch.randn(6, 11)
    exact = functional.pad(x.T, (2, 0, 1, 1))
    assert torch.equal(run("pad(x.T, (2, 0, 1, 1))", {"x": x}, exact, built), exact)


def test_whole_vectors_are_read_where_the_border_is_made_of_them() -> None:
    x = torch.randn(2, 8, 64)
    whole = last_code("pad(x, (4, 4, 1, 0))", {"x": x}, functional.pad(x, (4, 4, 1, 0))).unit.source
    assert "result = *reinterpret_cast<Vector<Element> const*>" in whole
    odd = last_code("pad(x, (1, 3))", {"x": x}, functional.pad(x, (1, 3))).unit.source
    assert "constexpr int Lanes = 4;" in odd
    assert "result = *reinterpret_cast" not in odd


# Pools.

IMAGE, ROW, VOLUME = (2, 4, 13, 24), (2, 3, 90), (2, 4, 7, 6, 11)
POOLS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "max_pool2d({x}, 3, stride=2, padding=1)": (IMAGE, lambda x: functional.max_pool2d(x, 3, 2, 1)),
    "max_pool2d({x}, (3, 2), (1, 3), (1, 0), (2, 4), true)": (
        IMAGE, lambda x: functional.max_pool2d(x, (3, 2), (1, 3), (1, 0), (2, 4), True),
    ),
    "avg_pool2d({x}, 2) >> relu()": (IMAGE, lambda x: functional.avg_pool2d(x, 2).relu()),
    "avg_pool2d({x}, 3, 2, 1, ceil_mode=true)": (IMAGE, lambda x: functional.avg_pool2d(x, 3, 2, 1, True)),
    "avg_pool2d({x}, 3, 1, 1, true, count_include_pad=false)": (
        IMAGE, lambda x: functional.avg_pool2d(x, 3, 1, 1, True, False),
    ),
    "avg_pool2d({x}, (13, 24))": (IMAGE, lambda x: functional.avg_pool2d(x, (13, 24))),
    "max_pool1d({x}, 8, 1, 4, 3)": (ROW, lambda x: functional.max_pool1d(x, 8, 1, 4, 3)),
    "avg_pool1d({x}, 8, 1, 4)": (ROW, lambda x: functional.avg_pool1d(x, 8, 1, 4)),
    "avg_pool1d({x}, 80, 5)": (ROW, lambda x: functional.avg_pool1d(x, 80, 5)),
    "max_pool3d({x}, 3, 2, 1, 2, true)": (VOLUME, lambda x: functional.max_pool3d(x, 3, 2, 1, 2, True)),
    "avg_pool3d({x}, 3, 2, 1)": (VOLUME, lambda x: functional.avg_pool3d(x, 3, 2, 1)),
}  # fmt: skip


@pytest.mark.parametrize("first", ["", CHANNELS_LAST], ids=["row_major", "channels_last"])
@pytest.mark.parametrize("text", POOLS)
def test_pools_are_torchs(text: str, first: str, built: Path) -> None:
    shape, expected = POOLS[text]
    x = torch.randn(shape)
    exact = expected(x)
    assert_close(run(text.format(x="c" if first else "x"), {"x": x}, exact, built, first), exact)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_pooled_in_float(dtype: str, built: Path) -> None:
    x = torch.randn(2, 3, 12, 40).to(getattr(torch, dtype))
    mean = functional.avg_pool2d(x.double(), 3, 2, 1).to(x.dtype)
    assert_close(run("avg_pool2d(x, 3, 2, 1)", {"x": x}, mean, built), mean)
    largest = functional.max_pool2d(x, 2)
    assert torch.equal(run("max_pool2d(x, 2)", {"x": x}, largest, built), largest)


@pytest.mark.parametrize("first", ["", CHANNELS_LAST], ids=["row_major", "channels_last"])
def test_nan_and_infinities_travel_as_in_torch(first: str, built: Path) -> None:
    x = torch.randn(1, 2, 8, 24)
    x[0, 0, 2, 3], x[0, 0, 5, 20], x[0, 1, 0, 0] = math.nan, math.inf, -math.inf
    name = "c" if first else "x"
    for kind, exact in (("max", functional.max_pool2d(x, 3, 2, 1)), ("avg", functional.avg_pool2d(x, 3, 2, 1))):
        assert_close(run(f"{kind}_pool2d({name}, 3, 2, 1)", {"x": x}, exact, built, first), exact)


@pytest.mark.parametrize("first", ["", CHANNELS_LAST], ids=["row_major", "channels_last"])
def test_a_chain_sees_the_channels(first: str, built: Path) -> None:
    x, b, r = torch.randn(2, 8, 12, 10), torch.randn(8, 1, 1), torch.randn(2, 8, 6, 5)
    exact = (functional.max_pool2d(x, 2) + b) * r
    text = f"max_pool2d({'c' if first else 'x'}, 2) >> add(b) >> mul(r)"
    assert_close(run(text, {"x": x, "b": b, "r": r}, exact, built, first), exact)


def reads(text: str, x: Any, exact: Any, first: str = "") -> Reads:
    return choose_reads(checked(text, {"x": x}, exact, first).stages[-1])


def test_threads_read_what_neighbouring_windows_share_once() -> None:
    x = torch.empty(2, 8, 16, 64)
    assert reads("max_pool2d(x, 2)", x, torch.empty(2, 8, 8, 32)) == Reads(4, 4, 8, even=True)
    # One element of the vector before the row's first, eleven that four windows of three reach over.
    assert reads("max_pool2d(x, 3, 2, 1)", x, torch.empty(2, 8, 8, 32)) == Reads(4, 4, 12, even=True)
    assert reads("avg_pool2d(x, (1, 40), 1)", x, torch.empty(2, 8, 16, 25)).seen == 44
    assert reads("avg_pool2d(x, (1, 64), 1)", x, torch.empty(2, 8, 16, 1)).lanes == 1
    assert reads("max_pool2d(c, 2)", x, torch.empty(2, 8, 8, 32), CHANNELS_LAST) == Reads(4, 4, 0, even=True)


def test_knobs_are_obeyed_and_checked() -> None:
    x = torch.randn(1, 1, 64)
    for text in (
        "max_pool1d(x, 2).threads(96)",
        "pad(x, (1, 1)).threads(96)",
        "relayout(x, row_major).threads(96)",
    ):
        exact = torch.empty(1, 1, 32) if "pool" in text else torch.empty(1, 1, 66) if "pad" in text else x
        assert "constexpr int Threads = 96;" in last_code(text, {"x": x}, exact).unit.source
    stage = checked("max_pool1d(x, 2)", {"x": x}, torch.empty(1, 1, 32)).stages[0]
    stage.knobs["threads"] = 2048
    with pytest.raises(KnobWithoutCode, match="multiple of 32"):
        emit_stage(stage, None)


def test_an_element_type_without_code_is_refused() -> None:
    x = torch.randn(1, 1, 64)
    stage = checked("max_pool1d(x, 2)", {"x": x}, torch.empty(1, 1, 32)).stages[0]
    wide = Value("x", DType.F64, (1, 1, 64), (64, 64, 1), 0, "x")
    object.__setattr__(stage, "operands", (wide,))
    with pytest.raises(ElementTypeWithoutCode):
        emit_stage(stage, None)


def test_a_turned_map(golden: Callable[[str], None]) -> None:
    x = tensor("x", F32, (256, 512))
    turned = Value("x.T", F32, (512, 256), (1, 512), 0, "x")
    row = tensor("r", F16, (256,))
    expr = call("mul", load(turned, (512, 256)), load(row, (512, 256)))
    golden(emit_elementwise(elementwise((512, 256), [step("x.T * r", expr)], [x, row]), None).unit.source)


def test_a_pool_of_rows(golden: Callable[[str], None]) -> None:
    x = torch.empty(2, 8, 16, 64)
    golden(last_code("avg_pool2d(x, 3, 2, 1) >> relu()", {"x": x}, torch.empty(2, 8, 8, 32)).unit.source)


def test_a_pool_of_channels(golden: Callable[[str], None]) -> None:
    x = torch.empty(2, 8, 16, 64, dtype=torch.float16)
    exact = torch.empty(2, 8, 8, 32, dtype=torch.float16)
    golden(last_code("max_pool2d(c, 3, 2, 1)", {"x": x}, exact, CHANNELS_LAST).unit.source)


def test_a_border(golden: Callable[[str], None]) -> None:
    x = torch.empty(2, 8, 779)
    golden(last_code("pad(x, (0, 5, 1, 0))", {"x": x}, torch.empty(2, 9, 784)).unit.source)
