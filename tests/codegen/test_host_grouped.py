"""grouped_gemm on the host, from text to numbers."""

from __future__ import annotations

import pytest
import torch

from kernels.dtypes import DType
from kernels.problems.inspection import TensorSpec
from kernels.targets import Policy
from tests.codegen.plans import run_program
from tests.codegen.running import Runner

TEXT = """
program groups(a: {0}[M, K], b: {0}[K, N], c: {0}[J, L], d: {0}[N, J]) -> f32[L, N]
  y = grouped_gemm([a, c.T], [b, d.T]).out(f32){1} >> relu() >> scale(0.5)
  z = map(y.0.slice(0, 0, L) - y.1)
  return z
"""


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize(
    ("dtype", "knobs"),
    [
        ("f32", ""),
        ("f32", ".tile(24, 64, 16).split(3)"),
        ("f16", ".stages(1)"),
        ("bf16", ".stages(3)"),
        ("f64", ""),
    ],
)
def test_products_of_their_own_sizes_and_layouts(runner: Runner, dtype: str, knobs: str) -> None:
    kind = getattr(torch, DType(dtype).torch_name)
    tensors = {"a": _random(37, 50), "b": _random(50, 41), "c": _random(19, 30), "d": _random(41, 19)}
    given = {name: tensor.to(kind) for name, tensor in tensors.items()}
    output = TensorSpec("out", DType.F32, (30, 41))
    text = TEXT.format(dtype, knobs)
    z = run_program(text, given, {}, output, runner.cache, Policy.HALF)
    a, b, c, d = (tensor.double() for tensor in given.values())
    exact = 0.5 * ((a @ b).relu()[:30] - (c.T @ d.T).relu())
    assert torch.allclose(z.double(), exact, rtol=1e-4, atol=1e-4)
