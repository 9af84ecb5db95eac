"""Cases of how numbers are multiplied: splits of FP32 in every layout, 8-bit floats, grouped products, odd extents."""

from __future__ import annotations

from tests.gpu.case import BRAIN, FULL, HALF, TF32, Case, one_product, one_stage

_CLASS = {"tf32x3": 2.0**-21, "bf16x3": 2.0**-15, "bf16x6": 2.0**-23}
_DEPTH = {"tf32x3": 3, "bf16x3": 3, "bf16x6": 6}
_STEP = {"tf32x3": 8, "bf16x3": 16, "bf16x6": 16}


def split(word: str, k: int) -> float:
    """A split's error class, and a truncated sum's error: 2^-23 an instruction, all one way at worst."""
    return _CLASS[word] + _DEPTH[word] * k / _STEP[word] * 2.0**-23


SPLITS = (
    one_product(
        "tf32x3_linear_gelu", "gemm(a, b.T).math(tf32x3) >> bias(bias) >> gelu()",
        (1024, 2048), (768, 2048), "f32", lambda nn, a, b, bias: nn.gelu(nn.linear(a, b, bias)),
        split("tf32x3", 2048), {"bias": ("f32", (768,))}, (1024, 768), policy="strict", baseline="float32",
    ),
    one_product(
        "strict_default_4096", "gemm(a, b)",
        (4096, 4096), (4096, 4096), "f32", lambda nn, a, b: a @ b,
        split("bf16x6", 4096), out=(4096, 4096), policy="strict", baseline="float32",
    ),
    one_product(
        "tf32x3_4096", "gemm(a, b.T).math(tf32x3)",
        (4096, 4096), (4096, 4096), "f32", lambda nn, a, b: a @ b.T,
        split("tf32x3", 4096), out=(4096, 4096), policy="strict", baseline="float32",
    ),
    one_product(
        "tf32x3_4096_promoted", "gemm(a, b.T).math(tf32x3).acc(f32)",
        (4096, 4096), (4096, 4096), "f32", lambda nn, a, b: a @ b.T,
        FULL, out=(4096, 4096), policy="strict", baseline="float32",
    ),
    one_product(
        "bf16x6_4096_promoted", "gemm(a, b.T).math(bf16x6).acc(f32)",
        (4096, 4096), (4096, 4096), "f32", lambda nn, a, b: a @ b.T,
        FULL, out=(4096, 4096), policy="strict", baseline="float32",
    ),
    one_product(
        "bf16x6_long_k_promoted", "gemm(a, b).math(bf16x6).acc(f32).tile(64, 128, 64).schedule(pingpong)",
        (1024, 16385), (16385, 1024), "f32", lambda nn, a, b: a @ b,
        2 * FULL, out=(1024, 1024), policy="strict", baseline="float32",
    ),
    one_product(
        "bf16x6_4096", "gemm(a, b).math(bf16x6).tile(128, 256, 64).cluster(2, 1)",
        (4096, 4096), (4096, 4096), "f32", lambda nn, a, b: a @ b,
        split("bf16x6", 4096), out=(4096, 4096), policy="strict", baseline="float32",
    ),
    one_product(
        "f32_4096", "gemm(a, b).math(f32)",
        (4096, 4096), (4096, 4096), "f32", lambda nn, a, b: a @ b,
        4e-6, out=(4096, 4096), policy="strict", baseline="float32", collective=False,
    ),
    one_product(
        "tf32x3_odd_k", "gemm(a, b).math(tf32x3).tile(128, 128, 32) >> mul(col) >> add(res)",
        (1001, 777), (777, 388), "f32", lambda nn, a, b, col, res: (a @ b) * col + res,
        split("tf32x3", 777), {"col": ("f32", (1001, 1)), "res": ("f32", (1001, 388))}, (1001, 388), policy="strict",
    ),
    one_product(
        "bf16x6_both_across", "gemm(a.T, b).math(bf16x6) >> relu()",
        (515, 1021), (515, 772), "f32", lambda nn, a, b: nn.relu(a.T @ b),
        split("bf16x6", 515), out=(1021, 772), policy="strict",
    ),
    one_product(
        "bf16x3_m_major_odd", "gemm(a.T, b.T).math(bf16x3).tile(64, 128, 64).schedule(pingpong) >> bias(bias)",
        (333, 257), (132, 333), "f32", lambda nn, a, b, bias: a.T @ b.T + bias,
        split("bf16x3", 333), {"bias": ("f32", (132,))}, (257, 132), policy="tf32",
    ),
    one_product(
        "bf16x3_streamk_long_k", "gemm(a, b.T).math(bf16x3).tile(128, 128, 64).schedule(streamk)",
        (256, 30001), (384, 30001), "f32", lambda nn, a, b: a @ b.T,
        split("bf16x3", 30001), out=(256, 384), policy="tf32", baseline="float32",
    ),
    one_product(
        "tf32x3_one_row", "gemm(a, b).math(tf32x3)",
        (1, 4097), (4097, 1000), "f32", lambda nn, a, b: a @ b,
        split("tf32x3", 4097), out=(1, 1000), policy="strict", baseline="float32",
    ),
    one_product(
        "rounded_to_f16_odd_k", "gemm(a, b).math(f16).out(f16) >> bias(bias)",
        (513, 1471), (1471, 264), "f32 -> f16", lambda nn, a, b, bias: a @ b + bias, HALF,
        {"bias": ("f32", (264,))}, (513, 264),
    ),
    Case(
        "bmm_tf32x3_one_matrix_for_all",
        """
program bmm_tf32x3_one_matrix_for_all(a: f32[M, K], b: f32[B, K, N], bias: f32[N]) -> f32[B, M, N]
  y = bmm(a.unsqueeze(0).expand(5, 192, 255), b).math(tf32x3).tile(64, 64, 32) >> bias(bias)
  return y
""",
        {"a": ("f32", (192, 255)), "b": ("f32", (5, 255, 324)), "bias": ("f32", (324,))},
        lambda nn, a, b, bias: a @ b + bias,
        split("tf32x3", 255),
        policy="strict",
        collective=True,
    ),
    Case(
        "bmm_bf16x6_permuted",
        """
program bmm_bf16x6_permuted(a: f32[M, B, K], b: f32[B, N, K], res: f32[B, M, N]) -> f32[B, M, N]
  y = bmm(a.permute(1, 0, 2), b.permute(0, 2, 1)).math(bf16x6) >> add(res) >> tanh()
  return y
""",
        {"a": ("f32", (131, 6, 93)), "b": ("f32", (6, 132, 93)), "res": ("f32", (6, 131, 132))},
        lambda nn, a, b, res: (a.transpose(0, 1) @ b.transpose(1, 2) + res).tanh(),
        split("bf16x6", 93),
        policy="strict",
        collective=True,
    ),
)  # fmt: skip

EIGHT_BITS = (
    one_product(
        "f8e4m3_linear", "gemm(a, b.T).out(f32) >> bias(bias) >> relu()",
        (1024, 2048), (768, 2048), "f8e4m3 -> f32", lambda nn, a, b, bias: nn.relu(a @ b.T + bias), 2e-3,
        {"bias": ("f32", (768,))}, (1024, 768),
    ),
    one_product(
        "f8e4m3_wide_pingpong_to_f16",
        "gemm(a, b.T).out(f16).tile(64, 128, 128).schedule(pingpong).cluster(2, 1) >> add(res)",
        (1471, 512), (264, 512), "f8e4m3 -> f16", lambda nn, a, b, res: a @ b.T + res, 2e-3,
        {"res": ("f16", (1471, 264))}, (1471, 264),
    ),
    one_product(
        "f8e4m3_fast_wide_tile", "gemm(a, b.T).acc(fast).tile(128, 256, 256)",
        (1024, 2048), (768, 2048), "f8e4m3 -> f32", lambda nn, a, b: a @ b.T, 5e-3, out=(1024, 768),
    ),
    one_product(
        "f8e4m3_deep_tile", "gemm(a, b.T).tile(128, 128, 256)",
        (1024, 2048), (768, 2048), "f8e4m3 -> f32", lambda nn, a, b: a @ b.T, 2e-3, out=(1024, 768),
    ),
    one_product(
        "f8e5m2_streamk_to_bf16", "gemm(a, b.T).out(bf16).tile(128, 128, 128).schedule(streamk)",
        (256, 8192), (384, 8192), "f8e5m2 -> bf16", lambda nn, a, b: a @ b.T, BRAIN, out=(256, 384),
    ),
    Case(
        "bmm_f8e4m3",
        """
program bmm_f8e4m3(a: f8e4m3[B, M, K], b: f8e4m3[B, N, K]) -> f32[B, M, N]
  y = bmm(a, b.permute(0, 2, 1)) >> scale(0.5)
  return y
""",
        {"a": ("f8e4m3", (6, 200, 320)), "b": ("f8e4m3", (6, 132, 320))},
        lambda nn, a, b: (a @ b.transpose(1, 2)) * 0.5,
        2e-3,
        collective=True,
    ),
    one_stage(
        "cast_to_f8e4m3", "cast(x, f8e4m3)", {"x": ("f32", (333, 512))}, "f8e4m3[333, 512]",
        lambda nn, x: x.to(_torch("float8_e4m3fn")).double(), 0.0,
    ),
    one_stage(
        "cast_to_f8e5m2_odd", "cast(x.T, f8e5m2)", {"x": ("f16", (37, 51))}, "f8e5m2[51, 37]",
        lambda nn, x: x.T.to(_torch("float8_e5m2")).double(), 0.0,
    ),
    one_stage(
        "map_of_f8", "map(x * z) >> relu()", {"x": ("f8e4m3", (300, 257)), "z": ("f32", (257,))}, "f32[300, 257]",
        lambda nn, x, z: nn.relu(x * z), 2e-6,
    ),
)  # fmt: skip


def _torch(name: str) -> object:
    """A torch element type, looked up where torch is there."""
    import torch

    return getattr(torch, name)


GROUPED = (
    Case(
        "grouped_f16",
        """
program grouped_f16(a: f16[M, K], b: f16[N, K], c: f16[L, J], d: f16[P, J], e: f16[Q, R], f: f16[S, R])
    -> f16[M, N], f16[L, P], f16[Q, S]
  y = grouped_gemm([a, c, e], [b.T, d.T, f.T]).tile(128, 128, 64) >> scale(0.5) >> gelu()
  return y.0, y.1, y.2
""",
        {
            "a": ("f16", (1000, 512)), "b": ("f16", (768, 512)), "c": ("f16", (33, 1024)), "d": ("f16", (256, 1024)),
            "e": ("f16", (257, 64)), "f": ("f16", (1024, 64)),
        },
        lambda nn, a, b, c, d, e, f: tuple(nn.gelu(0.5 * (x @ w.T)) for x, w in ((a, b), (c, d), (e, f))),
        HALF,
        collective=True,
    ),
    Case(
        "grouped_bf16_n_major_pingpong",
        """
program grouped_bf16_n_major_pingpong(a: bf16[M, K], b: bf16[K, N], c: bf16[L, J], d: bf16[J, P])
    -> f32[M, N], f32[L, P]
  y = grouped_gemm([a, c], [b, d]).out(f32).tile(64, 128, 64).schedule(pingpong).cluster(2, 1).stages(4) >> relu()
  return y.0, y.1
""",
        {
            "a": ("bf16", (513, 512)), "b": ("bf16", (512, 264)), "c": ("bf16", (2049, 136)),
            "d": ("bf16", (136, 264)),
        },
        lambda nn, a, b, c, d: (nn.relu(a @ b), nn.relu(c @ d)),
        HALF,
        collective=True,
    ),
    Case(
        "grouped_strict_any_layout",
        """
program grouped_strict_any_layout(a: f32[M, K], b: f32[K, N], c: f32[J, L], d: f32[P, J]) -> f32[M, N], f32[L, P]
  y = grouped_gemm([a, c.T], [b, d.T])
  return y.0, y.1
""",
        {"a": ("f32", (301, 333)), "b": ("f32", (333, 256)), "c": ("f32", (55, 97)), "d": ("f32", (68, 55))},
        lambda nn, a, b, c, d: (a @ b, c.T @ d.T),
        split("bf16x6", 333),
        policy="strict",
        collective=True,
    ),
    Case(
        "grouped_tf32",
        """
program grouped_tf32(a: f32[M, K], b: f32[N, K], c: f32[L, J], d: f32[P, J]) -> f32[M, N], f32[L, P]
  y = grouped_gemm([a, c], [b.T, d.T]).math(tf32) >> leaky_relu(0.1)
  return y.0, y.1
""",
        {"a": ("f32", (640, 512)), "b": ("f32", (384, 512)), "c": ("f32", (5, 260)), "d": ("f32", (1028, 260))},
        lambda nn, a, b, c, d: (nn.leaky_relu(a @ b.T, 0.1), nn.leaky_relu(c @ d.T, 0.1)),
        TF32,
        policy="tf32",
        collective=True,
    ),
)  # fmt: skip

LIMITS = (
    Case(
        "bmm_batch_65536",
        """
program bmm_batch_65536(a: f16[B, M, K], b: f16[B, K, N]) -> f32[B, M, N]
  y = bmm(a, b).out(f32)
  return y
""",
        {"a": ("f16", (65536, 8, 16)), "b": ("f16", (65536, 16, 8))},
        lambda nn, a, b: a @ b,
        HALF,
        collective=True,
    ),
    Case(
        "bmm_batch_65536_strict",
        """
program bmm_batch_65536_strict(a: f32[B, M, K], b: f32[B, K, N]) -> f32[B, M, N]
  y = bmm(a, b).math(f32)
  return y
""",
        {"a": ("f32", (65537, 5, 7)), "b": ("f32", (65537, 7, 3))},
        lambda nn, a, b: a @ b,
        2e-6,
        policy="strict",
    ),
    one_product(
        "tf32_n_major_shares_of_eight", "gemm(a, b).tile(128, 16, 32).cluster(2, 1)",
        (1000, 512), (512, 768), "f32", lambda nn, a, b: a @ b, TF32, out=(1000, 768), policy="tf32",
    ),
    one_product(
        "tf32_m_major_shares_of_eight", "gemm(a.T, b.T).tile(128, 16, 32).cluster(2, 1)",
        (512, 1000), (768, 512), "f32", lambda nn, a, b: a.T @ b.T, TF32, out=(1000, 768), policy="tf32",
    ),
    one_product(
        "tf32_k_major_shares_of_two", "gemm(a, b.T).tile(128, 16, 32).cluster(8, 1)",
        (1000, 512), (768, 512), "f32", lambda nn, a, b: a @ b.T, TF32, out=(1000, 768), policy="tf32",
    ),
    one_product(
        "f16_tile_of_48", "gemm(a, b.T).tile(128, 128, 48)",
        (1000, 512), (768, 512), "f16", lambda nn, a, b: a @ b.T, HALF, out=(1000, 768),
    ),
    one_product(
        "strict_many_rows", "gemm(a, b.T).math(f32)",
        (8388609, 1), (4, 1), "f32", lambda nn, a, b: a @ b.T, 2e-6, out=(8388609, 4), policy="strict",
        collective=False,
    ),
)  # fmt: skip

NUMERICS = (*SPLITS, *EIGHT_BITS, *GROUPED, *LIMITS)
