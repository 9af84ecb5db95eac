"""reduce, softmax and norm of the sm_90a target, run on the CPU by an emulation of CUDA's threads and shuffles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernels.codegen.cuda.errors import KnobWithoutCode
from kernels.codegen.cuda.row_schedule import RowSchedule, batch_of, schedule_rows
from kernels.codegen.errors import ElementTypeWithoutCode
from kernels.codegen.sm90a import emit_stage
from kernels.dsl.ir import Stage, Value
from kernels.dtypes import DType
from tests.codegen.sm90a_emulation import Emulated
from tests.codegen.sm90a_stages import ACC, BF16, F16, F32, by_rows, call, load, step, tensor

torch = pytest.importorskip("torch")

REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1),
    "prod": lambda x: x.prod(-1),
    "max": lambda x: x.amax(-1),
    "min": lambda x: x.amin(-1),
    "sumsq": lambda x: x.square().sum(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
}
SOFTMAXES: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
}
NORMS: dict[str, Callable[[Any], Any]] = {
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: torch.nn.functional.rms_norm(x, x.shape[-1:], eps=1e-5),
}
ALL = {**REDUCTIONS, **SOFTMAXES, **NORMS}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps what was built."""
    return tmp_path_factory.mktemp("built")


def run(stage: Stage, inputs: list[Any], folder: Path) -> Any:
    """The stage's result, run by the emulation."""
    result = torch.full(stage.result.shape, math.nan).to(getattr(torch, stage.result.dtype.torch_name))
    Emulated(emit_stage(stage, None), folder)(inputs, result)
    return result


def expected(kind: str, data: Any) -> Any:
    """What torch makes of it in double, in the type of the data."""
    return ALL[kind](data.double()).to(data.dtype)


@pytest.mark.parametrize(
    ("kind", "shape", "way"),
    [
        *((kind, (2, 3, 131), (256, 1, 1, 1)) for kind in ALL),
        *((kind, (9, 32), (8, 16, 4, 1)) for kind in ("max", "softmax", "layer_norm")),
    ],
)
def test_rows_in_registers_are_torchs(kind: str, shape: Any, way: Any, built: Path) -> None:
    stage = by_rows(kind, [tensor("x", F32, shape)])
    schedule = schedule_rows(stage)
    assert (schedule.threads, schedule.rows, schedule.lanes, schedule.held) == way
    data = torch.randn(shape) * 2 + 1
    torch.testing.assert_close(run(stage, [data], built), expected(kind, data), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("kind", ["sum", "max", "softmax", "layer_norm"])
def test_rows_that_do_not_fit_into_registers_are_read_twice(kind: str, built: Path) -> None:
    stage = by_rows(kind, [tensor("x", F32, (3, 32 * 8 * 4 + 20))], threads=32)
    assert schedule_rows(stage) == RowSchedule(threads=32, rows=4, lanes=4, held=0, splits=1)
    data = torch.randn(3, 32 * 8 * 4 + 20) + 3
    torch.testing.assert_close(run(stage, [data], built), expected(kind, data), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("kind", ["mean", "logsumexp", "softmax", "layer_norm"])
def test_few_long_rows_are_spread_over_the_whole_card(kind: str, built: Path) -> None:
    shape = (2, 16384 + 4)
    stage = by_rows(kind, [tensor("x", F32, shape)])
    code = emit_stage(stage, None)
    splits = schedule_rows(stage).splits
    assert splits == 8
    numbers = {"mean": 1, "layer_norm": 3}.get(kind, 2)
    assert code.workspace_bytes == 2 * splits * numbers * 4
    data = torch.randn(shape) + 1
    torch.testing.assert_close(run(stage, [data], built), expected(kind, data), rtol=5e-5, atol=5e-6)


def test_a_whole_tensor_becomes_one_number(built: Path) -> None:
    one = tensor("s", F32, ())
    chain = [step("mul(s)", call("mul", ACC, load(one, ()))), step("neg()", call("neg", ACC))]
    stage = by_rows("sum", [tensor("x", F32, (64, 33, 11))], dims=3, chain=chain)
    data, scale = torch.randn(64, 33, 11), torch.tensor(0.5)
    wanted = -(data.double().sum() * 0.5).float()
    torch.testing.assert_close(run(stage, [data, scale], built), wanted, rtol=1e-5, atol=1e-4)


def test_a_whole_tensor_of_any_size_keeps_every_sm_busy() -> None:
    schedule = schedule_rows(by_rows("sum", [tensor("x", F32, (4096, 4096))], dims=2))
    # As many threads as 132 SMs hold at once.
    assert schedule.splits * schedule.threads == 132 * 2048
    code = emit_stage(by_rows("sum", [tensor("x", F32, (4096, 4096))], dims=2), None)
    assert code.sizes == (1, 4096 * 4096, schedule.splits)


@pytest.mark.parametrize("dtype", [F16, BF16])
@pytest.mark.parametrize("kind", ["sum", "softmax", "layer_norm"])
def test_halves_are_computed_in_float(dtype: DType, kind: str, built: Path) -> None:
    stage = by_rows(kind, [tensor("x", dtype, (5, 256))])
    assert schedule_rows(stage).lanes == 8
    data = torch.randn(5, 256).to(getattr(torch, dtype.torch_name))
    torch.testing.assert_close(run(stage, [data], built), expected(kind, data))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("dtype", [F32, F16])
def test_a_norm_has_weight_and_bias_of_their_own_type(count: int, dtype: DType, built: Path) -> None:
    shape = (6, 96)
    affine = [tensor("w", dtype, (96,)), tensor("b", dtype, (96,))][:count]
    stage = by_rows("layer_norm", [tensor("x", F32, shape), *affine])
    kind = getattr(torch, dtype.torch_name)
    data, weight, bias = torch.randn(shape), torch.randn(96).to(kind), torch.randn(96).to(kind)
    wanted = torch.nn.functional.layer_norm(data, (96,), weight.float(), bias.float() if count == 2 else None)
    found = run(stage, [data, weight, bias][: count + 1], built)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_chain_loads_operands_of_every_layout(built: Path) -> None:
    shape = (3, 5, 48)
    x, residual, column = tensor("x", F32, shape), tensor("r", F32, shape), tensor("c", F32, (5, 1))
    batch, turned = tensor("m", F32, (3, 1, 48)), Value("q.permute", F32, shape, (5, 1, 15), 0, "q")
    chain = [
        step("add(r)", call("add", ACC, load(residual, shape))),
        step("mul(c)", call("mul", ACC, load(column, shape))),
        step("sub(m)", call("sub", ACC, load(batch, shape))),
        step("add(q)", call("add", ACC, load(turned, shape))),
        step("relu()", call("relu", ACC)),
    ]
    data = [torch.randn(shape), torch.randn(shape), torch.randn(5, 1), torch.randn(3, 1, 48), torch.randn(48, 3, 5)]
    wanted = torch.relu((data[0].softmax(-1) + data[1]) * data[2] - data[3] + data[4].permute(1, 2, 0))
    torch.testing.assert_close(run(by_rows("softmax", [x], chain=chain), data, built), wanted)


@pytest.mark.parametrize("keepdim", [False, True])
def test_a_reductions_chain_has_an_element_a_row(keepdim: bool, built: Path) -> None:
    x, scale = tensor("x", F32, (4, 6, 40)), tensor("s", F32, (4, 1, 1) if keepdim else (4, 1))
    shape = (4, 6, 1) if keepdim else (4, 6)
    stage = by_rows("mean", [x], chain=[step("mul(s)", call("mul", ACC, load(scale, shape)))], keepdim=keepdim)
    data, factors = torch.randn(4, 6, 40), torch.randn(scale.shape)
    wanted = data.mean(-1, keepdim=keepdim) * factors
    torch.testing.assert_close(run(stage, [data, factors], built), wanted)


@pytest.mark.parametrize("kind", ALL)
def test_nan_and_infinities_give_what_they_give_in_torch(kind: str, built: Path) -> None:
    nan, inf = math.nan, math.inf
    # No product of some of them is zero, which infinity would turn into NaN in one order and not in another.
    data = (torch.rand(8, 131) + 0.5) * torch.randn(8, 131).sign()
    data[0, 5], data[1, 6], data[2, 7] = nan, inf, -inf
    data[3] = -inf
    data[4] = inf
    data[5, :20], data[6, 3], data[6, 4] = -inf, inf, nan
    data[7] = 1e4
    found = run(by_rows(kind, [tensor("x", F32, (8, 131))]), [data], built)
    torch.testing.assert_close(found, ALL[kind](data), equal_nan=True, rtol=2e-5, atol=1e-5)


def test_a_row_with_a_large_mean_keeps_its_variance(built: Path) -> None:
    data = torch.randn(4, 512) * 0.5 + 1000
    found = run(by_rows("layer_norm", [tensor("x", F32, (4, 512))]), [data], built)
    torch.testing.assert_close(found, expected("layer_norm", data), rtol=1e-3, atol=1e-3)


def test_a_view_that_begins_between_vectors_is_read_by_elements(built: Path) -> None:
    x = Value("x.slice", F32, (5, 64), (64, 1), 3, "x")
    storage = torch.randn(5 * 64 + 3)
    shown = torch.as_strided(storage, (5, 64), (64, 1), 3)
    assert schedule_rows(by_rows("softmax", [x])).lanes == 1
    torch.testing.assert_close(run(by_rows("softmax", [x]), [shown], built), shown.softmax(-1))


@pytest.mark.parametrize(
    ("rows", "columns", "threads"),
    [(1 << 20, 8, 4), (1 << 16, 512, 32), (4096, 4096, 256), (4096, 16384, 512), (256, 4096, 1024)],
)
def test_threads_follow_the_columns_and_the_rows(rows: int, columns: int, threads: int) -> None:
    schedule = schedule_rows(by_rows("softmax", [tensor("x", F32, (rows, columns))]))
    assert (schedule.threads, schedule.splits) == (threads, 1)
    assert schedule.threads * schedule.held * schedule.lanes >= columns


def test_sizes_are_arguments_and_names_do_not_count() -> None:
    first = emit_stage(by_rows("softmax", [tensor("x", F32, (1 << 16, 512))]), None)
    other = emit_stage(by_rows("softmax", [tensor("z", F32, (1 << 17, 504))]), None)
    assert first.unit.symbol == other.unit.symbol
    assert first.unit.symbol.startswith("mu_softmax_")
    assert (first.sizes, other.sizes) == ((1 << 16, 512), (1 << 17, 504))


def test_knobs_are_obeyed() -> None:
    schedule = schedule_rows(by_rows("softmax", [tensor("x", F32, (4096, 4096))], threads=96, vector=2))
    assert (schedule.threads, schedule.lanes) == (96, 2)


@pytest.mark.parametrize("threads", [16, 48, 2048])
def test_a_block_that_cuda_does_not_allow_is_refused(threads: int) -> None:
    with pytest.raises(KnobWithoutCode, match="multiple of 32"):
        emit_stage(by_rows("sum", [tensor("x", F32, (64, 64))], threads=threads), None)


def test_an_element_type_without_code_is_refused() -> None:
    with pytest.raises(ElementTypeWithoutCode):
        emit_stage(by_rows("sum", [tensor("x", DType.F64, (64, 64))]), None)


def test_a_layer_norm_with_a_chain(golden: Callable[[str], None]) -> None:
    shape = (4096, 1024)
    operands = [tensor("x", F16, shape), tensor("weight", F16, (1024,)), tensor("bias", F16, (1024,))]
    chain = [
        step("gelu()", call("gelu", ACC)),
        step("add(res)", call("add", ACC, load(tensor("res", F16, shape), shape))),
    ]
    golden(emit_stage(by_rows("layer_norm", operands, chain=chain), None).unit.source)


def test_a_whole_tensors_mean(golden: Callable[[str], None]) -> None:
    golden(emit_stage(by_rows("mean", [tensor("x", F32, (4096, 4096))], dims=2), None).unit.source)


def test_a_log_softmax_of_long_rows(golden: Callable[[str], None]) -> None:
    golden(emit_stage(by_rows("log_softmax", [tensor("x", F32, (16, 1 << 20))]), None).unit.source)


@pytest.mark.parametrize(("streams", "loads"), [(0, 4), (1, 4), (2, 2)])
def test_blocks_that_take_turns_have_few_vectors_of_each_tensor_under_way(streams: int, loads: int) -> None:
    schedule = schedule_rows(by_rows("sum", [tensor("x", F32, (4096, 4096))], dims=2))
    assert batch_of(schedule, True, streams) == loads
    assert batch_of(replace(schedule, splits=1), True, 0) == 8
