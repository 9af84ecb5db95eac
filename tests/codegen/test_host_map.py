"""map and cast on the host against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernels.codegen.host.map import collapse
from kernels.dsl.functions import FUNCTIONS, Function
from kernels.dsl.ir import Apply, Const, Expr, Load
from tests.codegen.running import Runner, filled, view
from tests.codegen.stages import ACC, apply, broadcast, cast_stage, map_stage, step, transposed, value

SPECIAL = [0.0, -0.0, 1e-40, -1e-40, 1e-6, 0.5, -0.5, 3e38, -3e38, 88.9, -104.0, float("inf"), float("-inf")]


def _arguments(function: Function) -> list[float]:
    return [0.25 if default is None else default for _, default in function.params]


def _meaning(function: Function, dtype: torch.dtype, *tensors: torch.Tensor) -> torch.Tensor:
    """The row's own torch expression, the text of which is a constant of the table."""
    scope: dict[str, Any] = {"torch": torch}
    scope |= {name: tensor.to(dtype) for name, tensor in zip("xyz", tensors, strict=False)}
    scope |= dict(zip((name for name, _ in function.params), _arguments(function), strict=True))
    result = eval(function.meaning, scope)
    assert isinstance(result, torch.Tensor)
    return result.to(dtype)


def _rows(names: list[str], operands: list[Expr], which: Load) -> Expr:
    """Row ``i`` holds function ``i``: one unit tests them all."""
    result: Expr = Const(0.0)
    for number, name in enumerate(names):
        function = FUNCTIONS[name]
        call = Apply(name, (*operands[: function.arity], *map(Const, _arguments(function))))
        result = apply("where", apply("eq", which, float(number)), call, result)
    return result


def _evaluate(runner: Runner, arity: int, dtype: str, *tensors: torch.Tensor) -> dict[str, torch.Tensor]:
    """Each function's values at the numbers given."""
    count = tensors[0].numel()
    names = [name for name, function in FUNCTIONS.items() if function.arity == arity]
    shape = (len(names), count)
    operands: list[Expr] = [broadcast(value(name, (count,), dtype), shape) for name in "xyz"[:arity]]
    which = broadcast(value("row", (len(names), 1), "i16"), shape)
    chain = [step(_rows(names, operands, which))]
    storages = {name: tensor.contiguous() for name, tensor in zip("xyz", tensors, strict=False)}
    storages["row"] = torch.arange(len(names), dtype=torch.int16)
    y = runner.run(map_stage(shape, chain, dtype), storages)
    return dict(zip(names, y, strict=True))


def _numbers(dtype: torch.dtype) -> torch.Tensor:
    dense = torch.linspace(-12, 12, 1201, dtype=torch.float64)
    wide = torch.logspace(-30, 30, 121, dtype=torch.float64)
    special = torch.tensor([*SPECIAL, float("nan")], dtype=torch.float64)
    return torch.cat([dense, wide, -wide, special]).to(dtype)


@pytest.mark.parametrize(("dtype", "tolerance"), [("f32", 4e-7), ("f64", 1e-14)])
def test_every_function_of_one_argument_means_what_torch_means(
    runner: Runner, dtype: str, tolerance: float
) -> None:
    x = _numbers(torch.float32 if dtype == "f32" else torch.float64)
    for name, got in _evaluate(runner, 1, dtype, x).items():
        exact = _meaning(FUNCTIONS[name], torch.float64, x).to(got.dtype)
        close = torch.isclose(got, exact, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert close.all(), f"{name} at {x[~close][:5]}: {got[~close][:5]}, torch {exact[~close][:5]}"


@pytest.mark.parametrize("arity", [2, 3])
def test_every_function_of_more_arguments_means_what_torch_means(runner: Runner, arity: int) -> None:
    some = torch.tensor([-2.0, -0.5, 0.0, 0.5, 1.0, 3.0, float("inf"), float("-inf"), float("nan")])
    grid = torch.meshgrid(*[some] * arity, indexing="ij")
    tensors = [axis.reshape(-1) for axis in grid]
    for name, got in _evaluate(runner, arity, "f32", *tensors).items():
        exact = _meaning(FUNCTIONS[name], torch.float32, *tensors)
        assert torch.allclose(got, exact, rtol=1e-6, equal_nan=True), name


@pytest.mark.parametrize("shape", [(1,), (3, 5, 7), (2, 1, 40), (4, 3), ()])
def test_operands_broadcast_as_in_torch(runner: Runner, shape: tuple[int, ...]) -> None:
    full = value("x", shape)
    row = value("row", shape[-1:])
    chain = [step(apply("add", Load(full), broadcast(row, shape))), step(apply("mul", ACC, 0.5))]
    storages = {"x": filled(full, 1), "row": filled(row, 2)}
    y = runner.run(map_stage(shape, chain), storages)
    assert torch.equal(y, (view(storages["x"], full) + storages["row"].reshape(row.shape)) * 0.5)


def test_a_large_map_is_right_on_several_threads(runner: Runner) -> None:
    x = value("x", (100_003,))
    storages = {"x": filled(x, 1)}
    y = runner.run(map_stage((100_003,), [step(apply("square", Load(x)))], threads=3), storages)
    assert torch.equal(y, storages["x"].square())


def test_strided_operands_are_read_in_place(runner: Runner) -> None:
    x = transposed("x", (4, 6, 20))
    storages = {"x": filled(x, 1)}
    y = runner.run(map_stage((4, 6, 20), [step(apply("neg", Load(x)))], vector=48), storages)
    assert torch.equal(y, -view(storages["x"], x))


def test_integers_stay_exact(runner: Runner) -> None:
    x = value("x", (40,), "i64")
    big = torch.arange(40, dtype=torch.int64) + 2**60
    y = runner.run(map_stage((40,), [step(apply("add", Load(x), 1.0))], "i64"), {"x": big})
    assert torch.equal(y, big + 1)


@pytest.mark.parametrize(
    ("source", "result"),
    [("f32", "f16"), ("f32", "bf16"), ("bf16", "f32"), ("f16", "f64"), ("i64", "f32"), ("f32", "bool"), ("f64", "i32"),
     ("bool", "f32"), ("i64", "u8")],
)  # fmt: skip
def test_casts_give_torchs_bits(runner: Runner, source: str, result: str) -> None:
    x = value("x", (7, 9), source)
    numbers = filled(x, 3, -90, 90)
    if numbers.is_floating_point() and result in ("f16", "bf16", "f32", "f64", "bool"):
        numbers[:4] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-9])
    y = runner.run(cast_stage(x, result), {"x": numbers})
    exact = numbers.reshape(7, 9).to(y.dtype)
    assert torch.equal(torch.nan_to_num(y), torch.nan_to_num(exact))
    assert torch.equal(y.isnan(), exact.isnan())


def test_a_cast_of_a_transposed_view_is_contiguous(runner: Runner) -> None:
    x = transposed("x", (5, 33))
    storages = {"x": filled(x, 1)}
    y = runner.run(cast_stage(x, "f16"), storages)
    assert torch.equal(y, view(storages["x"], x).half())


def test_extents_that_all_operands_cross_alike_are_merged() -> None:
    full, row = value("x", (2, 1, 5, 7)), value("row", (7,))
    stage = map_stage((2, 1, 5, 7), [step(apply("add", Load(full), broadcast(row, (2, 1, 5, 7))))])
    extents, strides = collapse(stage)
    assert extents == (10, 7)
    assert list(strides.values()) == [(7, 1), (0, 1)]


def test_a_map_over_one_element_has_rank_one() -> None:
    extents, strides = collapse(map_stage((1, 1), [step(Load(value("x", (1, 1))))]))
    assert extents == (1,)
    assert list(strides.values()) == [(0,)]
