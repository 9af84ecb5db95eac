"""Whole programs, from text through checker, code and compiler to numbers, against torch."""

from __future__ import annotations

import pytest
import torch

from kernels.dtypes import DType
from kernels.problems.inspection import TensorSpec
from kernels.targets import Policy
from tests.codegen.plans import run_program
from tests.codegen.running import Runner

LINEAR = """
program linear(x: f32[M, K], fc.weight: f32[N, K], fc.bias: f32[N]) -> f32[M, N]
  y = gemm(x, fc.weight.T)
      >> bias(fc.bias) >> relu()
  return y
"""


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def _out(*shape: int) -> TensorSpec:
    return TensorSpec("out", DType.F32, shape)


@pytest.mark.parametrize("size", [(1, 1, 1), (7, 13, 5), (64, 200, 96)])
def test_a_linear_layer_with_relu(runner: Runner, size: tuple[int, int, int]) -> None:
    m, n, k = size
    x, weight, bias = _random(m, k), _random(n, k), _random(n)
    y = run_program(LINEAR, {"x": x}, {"fc.weight": weight, "fc.bias": bias}, _out(m, n), runner.cache)
    assert torch.allclose(y, torch.nn.functional.linear(x, weight, bias).relu(), rtol=1e-4, atol=1e-5)


def test_half_precision_with_a_residual_and_a_torch_stage(runner: Runner) -> None:
    text = """
    program block(x: f32[M, K], r: f32[M, N], w: f32[N, K]) -> f32[M, N]
      xh = cast(x, f16)
      wh = cast(w, f16) @once
      y = gemm(xh, wh.T).out(f32).tile(24, 64, 32).micro(6, 32).stages(2) >> add(r) >> gelu()
      z = torch.softmax(y, -1)
      s = map(z * 2 - y / 4)
      return s
    """
    x, w, r = _random(30, 50), _random(70, 50), _random(30, 70)
    y = run_program(text, {"x": x, "r": r}, {"w": w}, _out(30, 70), runner.cache, Policy.HALF)
    inner = torch.nn.functional.gelu(x.half().double() @ w.half().double().T + r.double())
    exact = torch.softmax(inner, -1) * 2 - inner / 4
    assert torch.allclose(y.double(), exact, rtol=1e-4, atol=1e-5)


def test_views_of_views_and_a_batch(runner: Runner) -> None:
    text = """
    program attention(q: f32[B, S, D], k: f32[B, S, D]) -> f32[B, S, S]
      half = q.slice(2, 0, 8)
      s = bmm(half, k.slice(2, 4, 12).T) >> scale(0.5) >> expr(where(gt(acc, 0), acc, exp(acc) - 1))
      return s
    """
    q, k = _random(3, 20, 16), _random(3, 20, 16)
    y = run_program(text, {"q": q, "k": k}, {}, _out(3, 20, 20), runner.cache)
    exact = torch.nn.functional.elu(q[..., :8] @ k[..., 4:12].transpose(1, 2) * 0.5)
    assert torch.allclose(y, exact, rtol=1e-4, atol=1e-5)


def test_views_as_operands_of_a_chain(runner: Runner) -> None:
    text = """
    program tail(x: f32[M, K], w: f32[K, N], r: f32[N, M], b: f32[P]) -> f32[N, M]
      y = gemm(x, w) >> add(r.T) >> bias(b.slice(0, 2, 9)) >> mul(b.select(0, 1))
      z = y.T
      u = map(z + b.slice(0, 0, 5).unsqueeze(0))
      return u
    """
    x, w, r, b = _random(5, 6), _random(6, 7), _random(7, 5), _random(12)
    y = run_program(text, {"x": x, "w": w, "r": r, "b": b}, {}, _out(7, 5), runner.cache)
    exact = ((x @ w + r.T + b[2:9]) * b[1]).T + b[0:5]
    assert torch.allclose(y, exact, rtol=1e-4, atol=1e-5)


def test_a_loss_over_a_stages_result_and_a_view_in_one_pass(runner: Runner) -> None:
    text = """
    program loss(x: f32[M, K], w: f32[N, K], t: f32[N, M], s: f32[N]) -> f32[M]
      y = gemm(x, w.T)
      z = map(y * 2)
      e = reduce((z - t.T) * (y - s), mean) >> abs()
      return e
    """
    x, w, t, s = _random(30, 50), _random(20, 50), _random(20, 30), _random(20)
    y = x @ w.T
    exact = ((y * 2 - t.T) * (y - s)).mean(1)
    found = run_program(text, {"x": x, "w": w, "t": t, "s": s}, {}, _out(30), runner.cache)
    assert torch.allclose(found, exact.abs(), rtol=1e-4, atol=1e-4)
