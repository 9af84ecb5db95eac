"""Row stages over an expression against torch: on the host, and CUDA's kernels on the CPU by the emulation."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from kernels.codegen.cuda.row_schedule import schedule_lanes, schedule_rows, space_of
from kernels.codegen.host import emit_stage as emit_host
from kernels.codegen.sm90a import emit_stage
from kernels.dsl.expressions import chain_values
from kernels.dsl.ir import Stage
from kernels.targets import Target
from tests.codegen.row_cases import REDUCTIONS, SOFTMAXES, F, row_stage, tensor
from tests.codegen.running import Runner
from tests.codegen.sm90a_emulation import Emulated

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that keeps what was built."""
    return tmp_path_factory.mktemp("built")


def stage(call: str, given: dict[str, Any], target: Target, channels_last: bool = False) -> Stage:
    types = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64"}
    tensors = {name: (types[value.dtype], tuple(value.shape)) for name, value in given.items()}
    return row_stage(call, tensors, target, channels_last)


def on_host(runner: Runner, made: Stage, given: dict[str, Any]) -> Any:
    """The stage's result, in the layout that it says."""
    read = (*made.operands, *chain_values(made.chain))
    flat = {name: torch.as_strided(data, (data.numel(),), (1,)) for name, data in given.items()}
    found = runner.run(made, {value.storage: flat[value.storage] for value in read}).reshape(-1)
    return torch.as_strided(found, made.result.shape, made.result.strides)


def emulated(folder: Path, made: Stage, given: dict[str, Any]) -> Any:
    """The same, by the CUDA kernels."""
    dtype = getattr(torch, made.result.dtype.torch_name)
    result = torch.empty_strided(made.result.shape, made.result.strides, dtype=dtype)
    result.fill_(-1 if dtype is torch.int64 else torch.nan)
    code = emit_stage(made, None)
    values = {value.name: value for value in (*made.operands, *chain_values(made.chain))}
    flat = {name: torch.as_strided(data, (data.numel(),), (1,)) for name, data in given.items()}
    read = [values[name] for name in code.pointers]
    Emulated(code, folder)([flat[value.storage][value.offset :] for value in read], result)
    return result


@pytest.fixture(params=["host", "cuda"])
def run(request: pytest.FixtureRequest, runner: Runner, built: Path) -> Run:
    """Checks a call, made with ``given``, against torch's result."""

    def check(
        call: str, given: dict[str, Any], wanted: Any, tolerance: float = 5e-5, channels_last: bool = False
    ) -> None:
        if request.param == "host":
            found = on_host(runner, stage(call, given, Target.HOST, channels_last), given)
        else:
            found = emulated(built, stage(call, given, Target.SM90A, channels_last), given)
        if found.dtype is torch.int64:
            assert torch.equal(found, wanted)
        else:
            torch.testing.assert_close(found.double(), wanted.double(), rtol=tolerance, atol=tolerance)

    return check


def tensors(*shapes: tuple[int, ...], dtype: str = "f32") -> list[Any]:
    return [tensor(shape, dtype, seed) for seed, shape in enumerate(shapes)]


@pytest.mark.parametrize("kind", [*REDUCTIONS, *SOFTMAXES])
@pytest.mark.parametrize("dim", [0, 2])
def test_every_kind_of_a_difference(kind: str, dim: int, run: Run) -> None:
    x, y = tensors((5, 9, 12), (5, 9, 12))
    call = f"reduce(x - y, {kind}, dim={dim})" if kind in REDUCTIONS else f"{kind}(x - y, dim={dim})"
    run(call, {"x": x, "y": y}, {**REDUCTIONS, **SOFTMAXES}[kind](x.double() - y.double(), [dim]), 2e-4)


@pytest.mark.parametrize("shape", [(7, 33), (3, 4, 16), (2, 40003), (1,), (600, 31)])
def test_the_mean_squared_error(shape: tuple[int, ...], run: Run) -> None:
    x, y = tensors(shape, shape)
    call = f"reduce((x - y) * (x - y), mean, dims={len(shape)})"
    run(call, {"x": x, "y": y}, (x.double() - y.double()).square().mean())


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("shape", [(6, 8, 16), (5, 7, 9), (3, 5, 1027), (1, 20, 4)])
def test_broadcast_operands_lie_as_they_do(dim: int, shape: tuple[int, ...], run: Run) -> None:
    x, w, b, s = tensors(shape, (shape[1], 1), (shape[2],), (1,))
    given = {"x": x, "w": w, "b": b, "s": s}
    made = x.double() * w + b - s
    run(f"reduce(x * w + b - s, sum, dim={dim})", given, made.sum(dim), 2e-4)
    run(f"softmax(x * w + b - s, dim={dim}) >> mul(w)", given, made.softmax(dim) * w)


def test_a_turned_operand_and_one_with_an_offset(run: Run) -> None:
    x, y = tensors((24, 36), (36, 24))
    run("reduce(abs(x - y.T), mean)", {"x": x, "y": y}, (x.double() - y.T).abs().mean(1))
    run("reduce(x - y.T, argmax, dim=0)", {"x": x, "y": y}, (x - y.T).argmax(0))
    z = tensor((30, 36), seed=5)
    run("reduce(x * z.slice(0, 1, 25), sum)", {"x": x, "z": z}, (x.double() * z[1:25]).sum(1))


@pytest.mark.parametrize("call", ["layer_norm(x + y, w, b)", "rms_norm(x + y, w)", "layer_norm(relu(x) * y)"])
def test_norms_of_a_sum(call: str, run: Run) -> None:
    x, y, w, b = tensors((9, 40), (9, 40), (40,), (40,))
    total = (x + y).double()
    wanted = {
        "layer_norm(x + y, w, b)": F.layer_norm(total, (40,), w.double(), b.double()),
        "rms_norm(x + y, w)": total / (total.square().mean(1, keepdim=True) + 1e-5).sqrt() * w,
        "layer_norm(relu(x) * y)": F.layer_norm(x.double().relu() * y, (40,)),
    }[call]
    run(call, {"x": x, "y": y, "w": w, "b": b}, wanted, 1e-4)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_halves_are_computed_in_single(dtype: str, run: Run) -> None:
    x, y = tensors((16, 264), (16, 264), dtype=dtype)
    run("reduce(x * y, mean)", {"x": x, "y": y}, (x.double() * y.double()).mean(1), 1e-2)
    y = tensor((16, 264), "f32", 1)
    run("reduce(x * y, mean)", {"x": y, "y": x}, (x.double() * y.double()).mean(1))


def test_channels_last_rows(run: Run) -> None:
    x, c = tensor((3, 8, 4, 5), channels_last=True), tensor((8, 1, 1), seed=1)
    y = tensor((3, 8, 4, 5), seed=2)
    given = {"x": x, "c": c, "y": y}
    made = x.double() * c - y
    run("reduce(x * c - y, mean, dim=1)", given, made.mean(1), channels_last=True)
    run("group_norm(x * c - y, 2)", given, F.group_norm(made, 2), 1e-4, channels_last=True)


@pytest.mark.parametrize("seed", range(24))
def test_any_shapes_kinds_and_broadcasts(seed: int, runner: Runner) -> None:
    pick = random.Random(seed)
    shape = tuple(pick.choice((1, 2, 3, 5, 16, 33, 70)) for _ in range(pick.randint(1, 4)))
    dims = sorted(pick.sample(range(len(shape)), pick.randint(1, len(shape))))
    parts = [tuple(pick.choice((1, extent)) for extent in shape)[pick.randint(0, len(shape) - 1) :] for _ in "wb"]
    x, w, b = tensors(shape, *parts)
    given, made = {"x": x, "w": w, "b": b}, (x.double() * w - b).abs()
    dim = f"dim={dims[0]}" if len(dims) == 1 else f"dim=({', '.join(map(str, dims))})"
    kind = pick.choice(["sum", "mean", "max", "logsumexp", "sumsq", "argmin", "softmax"])
    call = f"softmax(abs(x * w - b), {dim})" if kind == "softmax" else f"reduce(abs(x * w - b), {kind}, {dim})"
    found = on_host(runner, stage(f"{call}.threads({pick.randint(1, 3)})", given, Target.HOST), given)
    wanted = {**REDUCTIONS, **SOFTMAXES}[kind](made, dims)
    torch.testing.assert_close(found.double(), wanted.double(), rtol=2e-5, atol=2e-5)


def test_few_long_rows_are_spread_over_the_card(built: Path) -> None:
    for shape, dim in (((2, 40004), 1), ((20000, 12), 0)):
        x, y = tensors(shape, shape)
        made = stage(f"reduce((x - y) * (x - y), mean, dim={dim})", {"x": x, "y": y}, Target.SM90A)
        schedule = schedule_lanes(made) if space_of(made).adjacent else schedule_rows(made)
        assert schedule.splits > 1
        found = emulated(built, made, {"x": x, "y": y})
        torch.testing.assert_close(found, (x - y).square().mean(dim), rtol=5e-5, atol=5e-5)


def test_what_lies_as_the_rows_do_is_read_by_the_vector() -> None:
    x, y, w = tensors((64, 256), (64, 256), (64, 1))
    source = emit_stage(stage("reduce(x * y + w, sum)", {"x": x, "y": y, "w": w}, Target.SM90A), None).unit.source
    assert source.count("Vector<float> in") >= 2
    assert "load(from.e1 + at)" in source
    assert "float in2 = float(from.e2[at2]);" in source


def test_stages_that_differ_in_sizes_share_a_unit() -> None:
    for emit, target in ((emit_host, Target.HOST), (emit_stage, Target.SM90A)):
        symbols = set()
        for shape in ((16, 64), (32, 64)):
            x, w = tensors(shape, (shape[0], 1))
            made = stage("reduce(x * w, sum)", {"x": x, "w": w}, target)
            symbols.add(emit(made, None).unit.symbol)
        assert len(symbols) == 1
