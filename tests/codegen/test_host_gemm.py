"""gemm and bmm on the host against torch in float64. Tiles are small, so that small sizes have every kind of edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from kernels.dsl.ir import ChainStep, Load, Value
from tests.codegen.running import Runner, filled, view
from tests.codegen.stages import ACC, apply, broadcast, gemm_stage, step, transposed, value

Layout = Callable[[str, Sequence[int], str], Value]
SMALL: dict[str, Any] = {"tile": [8, 64, 16], "micro": [4, 32]}
SIZES = [(1, 1, 1), (7, 13, 5), (8, 64, 16), (33, 131, 50), (5, 32, 17)]
TOLERANCE = {"f64": 1e-13, "f32": 2e-6, "f16": 1e-3, "bf16": 8e-3}


def strided(name: str, shape: Sequence[int], dtype: str = "f32") -> Value:
    """Every second column of a wider matrix, from the third element on."""
    return value(name, shape, dtype, strides=(shape[1] * 2 + 3, 2), offset=2, storage=f"{name}_base")


def _product(storages: dict[str, torch.Tensor], a: Value, b: Value) -> torch.Tensor:
    return view(storages[a.storage], a).double() @ view(storages[b.storage], b).double()


def _check(
    runner: Runner, a: Value, b: Value, out: str = "f32", tolerance: float | None = None, **knobs: Any
) -> None:
    storages = {a.storage: filled(a, 1), b.storage: filled(b, 2)}
    y = runner.run(gemm_stage(a, b, out, **{**SMALL, **knobs}), storages)
    exact = _product(storages, a, b)
    size = exact.abs().max().item() + 1
    assert (y.double() - exact).abs().max().item() <= (tolerance or TOLERANCE[out]) * size


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("layout", [value, transposed, strided])
def test_every_layout_and_packing_multiplies_right(
    runner: Runner, layout: Layout, stages: int, size: tuple[int, int, int]
) -> None:
    m, n, k = size
    _check(runner, layout("a", (m, k), "f32"), layout("b", (k, n), "f32"), stages=stages)


@pytest.mark.parametrize("threads", [1, 3, 7])
def test_any_number_of_threads_gives_the_same_bits(runner: Runner, threads: int) -> None:
    a, b = value("a", (45, 70)), transposed("b", (70, 90))
    storages = {"a": filled(a, 1), "b": filled(b, 2)}
    alone = runner.run(gemm_stage(a, b, threads=1, **SMALL), storages)
    assert torch.equal(runner.run(gemm_stage(a, b, threads=threads, **SMALL), storages), alone)


@pytest.mark.parametrize("size", [(1, 1, 1), (5, 70, 3), (40, 33, 100)])
def test_split_sums_add_up(runner: Runner, size: tuple[int, int, int]) -> None:
    m, n, k = size
    _check(runner, value("a", (m, k)), value("b", (k, n)), split=3)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("size", [(7, 13, 5), (20, 70, 50)])
def test_half_types_are_summed_in_f32(runner: Runner, dtype: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    _check(runner, value("a", (m, k), dtype), transposed("b", (k, n), dtype), dtype)


def test_f64_is_summed_in_f64(runner: Runner) -> None:
    _check(runner, transposed("a", (19, 40), "f64"), value("b", (40, 37), "f64"), "f64")


def test_tiles_need_not_fit_each_other(runner: Runner) -> None:
    _check(runner, value("a", (50, 45)), transposed("b", (45, 100)), tile=[10, 50, 7], micro=[12, 32])


@pytest.mark.parametrize("math", ["bf16", "f16"])
def test_math_rounds_the_operands_alone(runner: Runner, math: str) -> None:
    """1 + 2^-12 is 1 in either half type; that the sums keep it shows in a sum of many."""
    a, b = value("a", (3, 40)), value("b", (40, 33))
    ones = {"a": torch.full((120,), 1 + 2**-12), "b": torch.full((1320,), 1.0)}
    y = runner.run(gemm_stage(a, b, math=math, **SMALL), ones)
    assert torch.equal(y, torch.full((3, 33), 40.0))
    _check(runner, a, b, math=math, tolerance=TOLERANCE[math])


@pytest.mark.parametrize("size", [(1, 1, 1, 1), (5, 7, 33, 20), (2, 9, 64, 40)])
def test_batches_multiply_right(runner: Runner, size: tuple[int, int, int, int]) -> None:
    batch, m, n, k = size
    a, b = value("a", (batch, m, k)), transposed("b", (batch, k, n))
    _check(runner, a, b)
    shared = value("s", (batch, k, n), strides=(0, 1, k))
    _check(runner, a, shared)


def test_a_chain_sees_the_finished_sum_once(runner: Runner) -> None:
    """With several K blocks, and operands broadcast along each extent, strided, and a number."""
    m, n, k = 21, 45, 50
    a, b = value("a", (m, k)), value("b", (k, n))
    row, column, one = value("row", (n,), "f16"), value("column", (m, 1)), value("one", ())
    other = transposed("other", (m, n), "bf16")
    chain = [
        step(apply("add", ACC, broadcast(row, (m, n)))),
        step(apply("mul", ACC, broadcast(column, (m, n)))),
        step(apply("sub", ACC, Load(other))),
        step(apply("add", ACC, broadcast(one, (m, n)))),
        step(apply("relu", apply("mul", ACC, 0.25))),
    ]
    operands = [a, b, row, column, one, other]
    storages = {item.name: filled(item, seed) for seed, item in enumerate(operands)}
    exact = _product(storages, a, b) + storages["row"].double()
    exact = exact * storages["column"].double()[:, None] - view(storages["other"], other).double()
    exact = ((exact + storages["one"].double()) * 0.25).relu()
    for split in (1, 2):
        y = runner.run(gemm_stage(a, b, chain=chain, split=split, **SMALL), storages)
        assert torch.allclose(y.double(), exact, rtol=1e-5, atol=1e-5)


def test_a_chain_of_a_batch_reads_its_own_plane(runner: Runner) -> None:
    shape = (3, 5, 33)
    a, b, other = value("a", (3, 5, 9)), value("b", (3, 9, 33)), value("other", shape)
    chain: list[ChainStep] = [step(apply("add", ACC, Load(other)))]
    storages = {item.name: filled(item, seed) for seed, item in enumerate((a, b, other))}
    y = runner.run(gemm_stage(a, b, chain=chain, **SMALL), storages)
    exact = _product(storages, a, b) + view(storages["other"], other).double()
    assert torch.allclose(y.double(), exact, rtol=1e-5, atol=1e-5)


def test_nan_and_infinity_come_through(runner: Runner) -> None:
    a, b = value("a", (4, 16)), value("b", (16, 40))
    storages = {"a": filled(a, 1), "b": filled(b, 2)}
    storages["a"][0] = float("nan")
    storages["b"][5] = float("inf")
    y = runner.run(gemm_stage(a, b, chain=[step(apply("relu", ACC))], **SMALL), storages)
    exact = (view(storages["a"], a) @ view(storages["b"], b)).relu()
    assert torch.allclose(y, exact, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert y[0].isnan().all()
