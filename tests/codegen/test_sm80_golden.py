"""Whole units of the sm_80 target, as text."""

from __future__ import annotations

from collections.abc import Callable

from kernels.targets import Policy
from tests.codegen.sm80_units import codes

LINEAR = """program gemm_add_relu(x: f16[M, K], w: f16[N, K], bias: f32[N]) -> f16[M, N]
  y = gemm(x, w.T)
        .tile(128, 256, 32).warps(2, 4)
        .shared(163).stages(4)
      >> bias(bias)
      >> relu()
  return y
"""
EVERY_LOAD = """program every(a: f32[M, K], b: f32[K, N], bias: f32[N], col: f32[M, 1], res: f32[M, N], one: f32[1],
                 q: f32[N, M]) -> f16[M, N]
  y = gemm(a, b).out(f16) >> bias(bias) >> mul(col) >> add(res) >> mul(one) >> expr(acc + max(q.T, 0)) >> gelu()
  return y
"""
ATTENTION = """program scores(q: bf16[B, M, K], k: bf16[B, N, K], mask: f32[1, M, N], s: f32[B, 1, 1]) -> bf16[B, M, N]
  y = bmm(q, k.permute(0, 2, 1)) >> mul(s) >> add(mask)
  return y
"""
DIVIDED = """program divided(x: f16[M, K], w: f16[K, N]) -> f32[M, N]
  y = gemm(x, w).out(f32).tile(64, 64, 64).split(8)
  return y
"""
STREAMED = """program streamed(x: f32[K, M], w: f32[N, K]) -> f32[M, N]
  y = gemm(x.T, w.T).schedule(streamk)
  return y
"""


def test_a_linear_layer(golden: Callable[[str], None]) -> None:
    golden(codes(LINEAR, (1024, 8192), (8192, 8192), (8192,))["y"].unit.source)


def test_every_kind_of_load(golden: Callable[[str], None]) -> None:
    shapes = ((1471, 512), (512, 264), (264,), (1471, 1), (1471, 264), (1,), (264, 1471))
    golden(codes(EVERY_LOAD, *shapes)["y"].unit.source)


def test_batched_scores(golden: Callable[[str], None]) -> None:
    golden(codes(ATTENTION, (6, 200, 64), (6, 264, 64), (1, 200, 264), (6, 1, 1))["y"].unit.source)


def test_a_product_divided_along_k(golden: Callable[[str], None]) -> None:
    golden(codes(DIVIDED, (128, 16384), (16384, 192))["y"].unit.source)


def test_stream_k_of_columns(golden: Callable[[str], None]) -> None:
    golden(codes(STREAMED, (4096, 1408), (1280, 4096), policy=Policy.STRICT)["y"].unit.source)
