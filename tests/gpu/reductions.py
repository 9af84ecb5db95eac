"""Products reduced in their epilogue on sm_90a: over either extent, either way round, at edges, in batches."""

from __future__ import annotations

from tests.gpu.case import BRAIN, FULL, HALF, TF32, Case
from tests.gpu.case import one_product as _gemm

REDUCTIONS = (
    _gemm(
        "reduced_columns_f16", "gemm(a, b.T).out(f32) >> bias(bias) >> gelu() >> reduce(sum, dim=1)",
        (1471, 1024), (1000, 1024), "f16 -> f32", lambda nn, a, b, bias: nn.gelu(a @ b.T + bias).sum(1), HALF,
        {"bias": ("f32", (1000,))}, (1471,), baseline="float16",
    ),
    _gemm(
        "reduced_rows_f16_wide", "gemm(a, b.T).tile(128, 256, 64).cluster(2, 1) >> relu() >> reduce(sum, dim=0)",
        (4096, 1024), (4096, 1024), "f16", lambda nn, a, b: nn.relu(a @ b.T).sum(0), HALF, out=(4096,),
        baseline="float16",
    ),
    _gemm(
        # Rows without a multiple of 16 bytes: no product is stored, so that nothing asks for it.
        "reduced_columns_odd_pingpong",
        "gemm(a, b.T).out(f32).tile(64, 128, 64).schedule(pingpong) >> mul(col) >> reduce(min, dim=1)",
        (777, 512), (333, 512), "f16 -> f32", lambda nn, a, b, col: ((a @ b.T) * col).amin(1), HALF,
        {"col": ("f32", (777, 1))}, (777,),
    ),
    _gemm(
        "reduced_rows_odd_pingpong", "gemm(a, b.T).out(f32).tile(192, 64, 64).schedule(pingpong) >> reduce(max, dim=0)",
        (777, 512), (333, 512), "f16 -> f32", lambda nn, a, b: (a @ b.T).amax(0), HALF, out=(333,),
    ),
    Case(
        # Some rows have a NaN, which is their maximum.
        "reduced_columns_with_nan",
        """
program reduced_columns_with_nan(a: bf16[M, K], b: bf16[N, K], r: f32[M, N]) -> f32[M]
  z = gemm(a, b.T).out(f32).tile(256, 128, 64).cluster(2, 1) >> expr(acc + sqrt(r + 0.6)) >> reduce(max, dim=1)
  y = map(where(eq(z, z), z, -1))
  return y
""",
        {"a": ("bf16", (1500, 512)), "b": ("bf16", (1000, 512)), "r": ("f32", (1500, 1000))},
        lambda nn, a, b, r: (a @ b.T + (r + 0.6).sqrt()).amax(1).nan_to_num(-1),
        BRAIN,
        collective=True,
    ),
    _gemm(
        "reduced_columns_tf32_transposed",
        "gemm(a, b).tile(128, 128, 32) >> bias(bias) >> add(res) >> reduce(sum, dim=1)",
        (1471, 512), (512, 1000), "f32", lambda nn, a, b, bias, res: (a @ b + bias + res).sum(1), TF32,
        {"bias": ("f32", (1000,)), "res": ("f32", (1471, 1000))}, (1471,), policy="tf32",
    ),
    _gemm(
        "reduced_rows_tf32_transposed",
        "gemm(a, b).tile(64, 128, 32).schedule(pingpong) >> silu() >> reduce(mean, dim=0, keepdim=true)",
        (1471, 512), (512, 1000), "f32", lambda nn, a, b: nn.silu(a @ b).mean(0, keepdim=True), TF32, out=(1, 1000),
        policy="tf32", baseline="float32",
    ),
    Case(
        # Three tiles in clusters of two: the fourth block of each pair has nothing to reduce.
        "bmm_reduced_rows",
        """
program bmm_reduced_rows(a: bf16[B, M, K], b: bf16[B, K, N], c: f32[B, 1, N]) -> f32[B, 1, N]
  y = bmm(a, b).out(f32).tile(128, 48, 64).cluster(2, 1) >> add(c) >> square() >> reduce(sum, dim=1, keepdim=true)
  return y
""",
        {"a": ("bf16", (7, 300, 320)), "b": ("bf16", (7, 320, 264)), "c": ("f32", (7, 1, 264))},
        lambda nn, a, b, c: (a @ b + c).square().sum(1, keepdim=True),
        BRAIN,
        collective=True,
    ),
    Case(
        "bmm_reduced_columns_f16",
        """
program bmm_reduced_columns_f16(a: f16[B, M, K], b: f16[B, N, K]) -> f16[B, M]
  y = bmm(a, b.permute(0, 2, 1)).tile(128, 64, 64).cluster(1, 2) >> sigmoid() >> reduce(mean, dim=2)
  return y
""",
        {"a": ("f16", (5, 200, 320)), "b": ("f16", (5, 300, 320))},
        lambda nn, a, b: (a @ b.transpose(1, 2)).sigmoid().mean(2),
        HALF,
        collective=True,
    ),
    _gemm(
        "reduced_columns_strict", "gemm(a, b).math(bf16x6) >> relu() >> reduce(sum, dim=1)",
        (500, 333), (333, 777), "f32", lambda nn, a, b: nn.relu(a @ b).sum(1), FULL, out=(500,), policy="strict",
    ),
)  # fmt: skip
