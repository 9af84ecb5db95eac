"""Products reduced at the end of their chain on the host, from text to numbers, against torch in float64."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernels.dsl.ir import Reduction
from kernels.dtypes import DType
from kernels.problems.inspection import TensorSpec
from kernels.targets import Policy
from tests.codegen.plans import run_program
from tests.codegen.running import Runner, filled, view
from tests.codegen.stages import SPAN, gemm_stage, transposed, value

SIZES = [(1, 1, 1), (7, 13, 5), (33, 131, 50), (70, 96, 20)]
KINDS = ["sum", "mean", "max", "min"]


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def _reduced(value: torch.Tensor, kind: str, dim: int, keepdim: bool = False) -> torch.Tensor:
    name = {"max": "amax", "min": "amin"}.get(kind, kind)
    result = getattr(torch, name)(value, dim, keepdim=keepdim)
    assert isinstance(result, torch.Tensor)
    return result


def _out(y: torch.Tensor, dtype: str = "f32") -> TensorSpec:
    return TensorSpec("out", DType(dtype), tuple(y.shape))


def _linear(
    runner: Runner, size: tuple[int, int, int], link: str, exact: torch.Tensor, knobs: str = ""
) -> torch.Tensor:
    m, n, k = size
    text = f"""
    program p(x: f32[M, K], w: f32[N, K], b: f32[N]) -> f32[{", ".join(map(str, exact.shape))}]
      y = gemm(x, w.T){knobs} >> bias(b) >> gelu() >> {link}
      return y
    """
    inputs = {"x": _random(m, k)}
    parameters = {"w": _random(n, k), "b": _random(n)}
    return run_program(text, inputs, parameters, _out(exact), runner.cache)


def _exact(size: tuple[int, int, int]) -> torch.Tensor:
    m, n, k = size
    product = _random(m, k).double() @ _random(n, k).double().T
    return torch.nn.functional.gelu(product + _random(n).double())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_over_columns_and_rows(runner: Runner, kind: str, dim: int, size: tuple[int, int, int]) -> None:
    exact = _reduced(_exact(size), kind, dim)
    # Small blocks, so that small sizes have several of each, and sums over several blocks of K.
    y = _linear(runner, size, f"reduce({kind}, dim={dim})", exact, ".tile(8, 64, 16).micro(4, 32)")
    assert torch.allclose(y.double(), exact, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dim", [0, 1])
def test_keepdim_leaves_an_extent_of_one(runner: Runner, dim: int) -> None:
    size = (33, 131, 50)
    exact = _reduced(_exact(size), "sum", dim, keepdim=True)
    y = _linear(runner, size, f"reduce(sum, dim={dim - 2}, keepdim=true)", exact)
    assert torch.allclose(y.double(), exact, rtol=1e-5, atol=1e-4)


def test_without_dim_the_columns_go(runner: Runner) -> None:
    size = (33, 131, 50)
    exact = _reduced(_exact(size), "max", 1)
    assert torch.allclose(_linear(runner, size, "reduce(max)", exact).double(), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dim", [0, 1])
def test_any_number_of_threads_gives_the_same_bits(runner: Runner, dim: int) -> None:
    size = (45, 150, 70)
    exact = _reduced(_exact(size), "sum", dim)
    knobs = ".tile(8, 64, 16).micro(4, 32)"
    alone, *others = (
        _linear(runner, size, f"reduce(sum, dim={dim})", exact, f"{knobs}.threads({threads})")
        for threads in (1, 2, 5, 7)
    )
    assert all(torch.equal(alone, other) for other in others)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("dim", [1, 2])
def test_each_product_of_a_batch_is_reduced_alone(runner: Runner, dim: int, stages: int) -> None:
    text = f"""
    program p(a: f32[B, M, K], b: f32[B, K, N]) -> f32[B, {"M" if dim == 2 else "N"}]
      y = bmm(a, b).tile(8, 64, 16).micro(4, 32).stages({stages}) >> reduce(sum, dim={dim})
      return y
    """
    a, b = _random(3, 21, 40), _random(3, 40, 75)
    exact = (a.double() @ b.double()).sum(dim)
    y = run_program(text, {"a": a, "b": b}, {}, _out(exact), runner.cache)
    assert torch.allclose(y.double(), exact, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("threads", [0, 1, 3])
@pytest.mark.parametrize("size", [(1, 1, 1, 1), (5, 7, 33, 20), (2, 29, 64, 40)])
def test_nothing_is_written_behind_the_workspace(
    runner: Runner, size: tuple[int, int, int, int], threads: int, axis: int
) -> None:
    batch, m, n, k = size
    a, b = value("a", (batch, m, k)), transposed("b", (batch, k, n))
    whole = gemm_stage(a, b, tile=[8, 64, 16], micro=[4, 32], threads=threads)
    kept = (batch, m if axis == 2 else n)
    reduction = Reduction("sum", axis, False, f"reduce(sum, dim={axis})", SPAN)
    storages = {"a": filled(a, 1), "b": filled(b, 2)}
    y = runner.run(replace(whole, results=(value("y", kept),), reduction=reduction), storages)
    exact = (view(storages["a"], a).double() @ view(storages["b"], b).double()).sum(axis)
    assert torch.allclose(y.double(), exact, rtol=1e-5, atol=1e-4)


def test_half_types_are_reduced_before_they_are_rounded(runner: Runner) -> None:
    text = """
    program p(a: f16[M, K], b: f16[K, N]) -> f16[M]
      y = gemm(a, b) >> reduce(mean, dim=1)
      return y
    """
    a, b = _random(20, 50).half(), _random(50, 300).half()
    exact = (a.double() @ b.double()).mean(1)
    y = run_program(text, {"a": a, "b": b}, {}, _out(exact, "f16"), runner.cache, Policy.HALF)
    assert torch.equal(y, exact.half()) or (y.double() - exact).abs().max() <= 2**-11 * exact.abs().max()


@pytest.mark.parametrize("kind", ["max", "min", "sum"])
def test_nan_comes_out_as_in_torch(runner: Runner, kind: str) -> None:
    text = f"""
    program p(a: f32[M, K], b: f32[K, N]) -> f32[M]
      y = gemm(a, b) >> reduce({kind}, dim=1)
      return y
    """
    a, b = torch.eye(5), _random(5, 70)
    b[2, 3], b[3, 69] = float("nan"), float("nan")
    y = run_program(text, {"a": a, "b": b}, {}, TensorSpec("out", DType.F32, (5,)), runner.cache)
    # A zero times NaN is NaN: the columns 3 and 69 are NaN in every row.
    assert bool(y.isnan().all())
