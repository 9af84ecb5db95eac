"""Small programs that together use every kind of code the sm_90a generator writes, each with its meaning in torch.

``run_suite`` builds them, runs them on a card and compares with the meaning in float64. Nothing here imports torch.
"""

from __future__ import annotations

from tests.gpu import ampere, convolutions, movement
from tests.gpu.case import BRAIN, FULL, HALF, TF32, Case
from tests.gpu.case import one_product as _gemm
from tests.gpu.case import one_stage as _map
from tests.gpu.numerics import NUMERICS
from tests.gpu.reductions import REDUCTIONS
from tests.gpu.rows_any_dims import ROWS_ANY_DIMS

LINEAR = Case(
    "linear_bias_relu_4096",
    """
program linear_bias_relu_4096(x: f32[M, K], weight: f32[N, K], bias: f32[N]) -> f32[M, N]
  xh = cast(x, f16)
  wh = cast(weight, f16) @once
  y  = gemm(xh, wh.T).acc(f32).out(f32).tile(128, 256, 64).cluster(2, 1).schedule(cooperative)
       >> bias(bias) >> relu()
  return y
""",
    {"x": ("f32", (4096, 4096)), "weight": ("f32", (4096, 4096)), "bias": ("f32", (4096,))},
    lambda nn, x, weight, bias: nn.relu(nn.linear(x, weight, bias)),
    HALF,
    collective=True,
    baseline="float16",
    parameters=("weight", "bias"),
)

COLLECTIVES = (
    LINEAR,
    _gemm(
        "every_link_pingpong",
        "gemm(a, b.T).out(f16).tile(64, 128, 64).schedule(pingpong)\n"
        "       >> bias(bias) >> mul(col) >> add(res) >> sub(aux) >> mul(one)\n"
        "       >> expr(acc * 0.5 + max(q.T, 0)) >> leaky_relu(0.1)",
        (1471, 512), (256, 512), "f16",
        lambda nn, a, b, bias, col, res, aux, one, q: nn.leaky_relu(
            (((a @ b.T + bias) * col + res - aux) * one) * 0.5 + nn.relu(q.T), 0.1
        ),
        HALF,
        {
            "bias": ("f32", (256,)), "col": ("f32", (1471, 1)), "res": ("f32", (1471, 256)),
            "aux": ("f16", (1471, 256)), "one": ("f32", (1,)), "q": ("f32", (256, 1471)),
        },
        (1471, 256),
    ),
    Case(
        "bmm_batched_bias_bf16",
        """
program bmm_batched_bias_bf16(a: bf16[B, M, K], b: bf16[B, K, N], bias: f32[B, 1, N]) -> bf16[B, M, N]
  y = bmm(a, b).tile(128, 128, 64).cluster(2, 1).raster(m).swizzle(2) >> add(bias) >> scale(0.5)
  return y
""",
        {"a": ("bf16", (6, 200, 320)), "b": ("bf16", (6, 320, 264)), "bias": ("f32", (6, 1, 264))},
        lambda nn, a, b, bias: (a @ b + bias) * 0.5,
        BRAIN,
        collective=True,
    ),
    _gemm(
        "streamk_long_k", "gemm(a, b).out(f32).tile(128, 128, 64).schedule(streamk) >> relu()",
        (256, 16384), (16384, 384), "f16 -> f32", lambda nn, a, b: nn.relu(a @ b), HALF, out=(256, 384),
        baseline="float16",
    ),
    _gemm(
        "tf32_k_major", "gemm(a, b.T).tile(128, 128, 32).cluster(1, 2) >> bias(bias) >> gelu()",
        (1024, 2048), (768, 2048), "f32", lambda nn, a, b, bias: nn.gelu(nn.linear(a, b, bias)), TF32,
        {"bias": ("f32", (768,))}, (1024, 768), policy="tf32", baseline="float32",
    ),
    _gemm(
        "tf32_n_major", "gemm(a, b).tile(128, 128, 32) >> tanh()",
        (1024, 512), (512, 768), "f32", lambda nn, a, b: (a @ b).tanh(), TF32, out=(1024, 768), policy="tf32",
    ),
    _gemm(
        "tf32_n_major_pingpong",
        "gemm(a, b).tile(64, 128, 32).schedule(pingpong)\n"
        "       >> bias(bias) >> mul(col) >> add(res) >> sub(aux) >> mul(one)\n"
        "       >> expr(acc * 0.5 + max(q.T, 0)) >> leaky_relu(0.1)",
        (1471, 512), (512, 264), "f32",
        lambda nn, a, b, bias, col, res, aux, one, q: nn.leaky_relu(
            (((a @ b + bias) * col + res - aux) * one) * 0.5 + nn.relu(q.T), 0.1
        ),
        TF32,
        {
            "bias": ("f32", (264,)), "col": ("f32", (1471, 1)), "res": ("f32", (1471, 264)),
            "aux": ("f32", (1471, 264)), "one": ("f32", (1,)), "q": ("f32", (264, 1471)),
        },
        (1471, 264), policy="tf32",
    ),
    _gemm(
        "tf32_n_major_wide",
        "gemm(a, b).tile(256, 128, 32).cluster(2, 1).schedule(cooperative).raster(m) >> bias(bias) >> add(res)",
        (2048, 2048), (2048, 1024), "f32", lambda nn, a, b, bias, res: a @ b + bias + res, TF32,
        {"bias": ("f32", (1024,)), "res": ("f32", (2048, 1024))}, (2048, 1024), policy="tf32", baseline="float32",
    ),
    _gemm(
        "tf32_n_major_to_f16", "gemm(a, b).math(tf32).out(f16).tile(128, 256, 32) >> mul(col) >> add(res) >> relu()",
        (1000, 512), (512, 768), "f32 -> f16", lambda nn, a, b, col, res: nn.relu((a @ b) * col + res), TF32,
        {"col": ("f32", (1000, 1)), "res": ("f16", (1000, 768))}, (1000, 768),
    ),
    _gemm(
        "tf32_n_major_streamk", "gemm(a, b).tile(128, 128, 32).cluster(1, 2).schedule(streamk) >> bias(bias)",
        (384, 16384), (16384, 640), "f32", lambda nn, a, b, bias: a @ b + bias, TF32,
        {"bias": ("f32", (640,))}, (384, 640), policy="tf32",
    ),
    Case(
        "bmm_tf32_n_major",
        """
program bmm_tf32_n_major(a: f32[B, M, K], b: f32[B, K, N], bias: f32[B, 1, N], col: f32[B, M, 1],
                         res: f32[B, M, N]) -> f32[B, M, N]
  y = bmm(a, b).tile(128, 64, 32) >> add(bias) >> mul(col) >> add(res)
  return y
""",
        {
            "a": ("f32", (5, 200, 320)), "b": ("f32", (5, 320, 264)), "bias": ("f32", (5, 1, 264)),
            "col": ("f32", (5, 200, 1)), "res": ("f32", (5, 200, 264)),
        },
        lambda nn, a, b, bias, col, res: (a @ b + bias) * col + res,
        TF32,
        policy="tf32",
        collective=True,
    ),
    _gemm(
        "tf32_both_outer_cooperative",
        "gemm(a.T, b).tile(256, 128, 32).cluster(2, 1).schedule(cooperative) >> bias(bias) >> mul(col) >> add(res)",
        (512, 1024), (512, 768), "f32", lambda nn, a, b, bias, col, res: (a.T @ b + bias) * col + res, TF32,
        {"bias": ("f32", (768,)), "col": ("f32", (1024, 1)), "res": ("f32", (1024, 768))}, (1024, 768),
        policy="tf32",
    ),
    _gemm(
        "tf32_m_major", "gemm(a.T, b.T).tile(128, 128, 32) >> sigmoid()",
        (512, 1024), (768, 512), "f32", lambda nn, a, b: (a.T @ b.T).sigmoid(), TF32, out=(1024, 768), policy="tf32",
    ),
    _gemm(
        "tf32_both_outer", "gemm(a.T, b).tile(128, 128, 32).schedule(pingpong)",
        (512, 1024), (512, 768), "f32", lambda nn, a, b: a.T @ b, TF32, out=(1024, 768), policy="tf32",
    ),
    _gemm(
        "f32_narrowed_to_bf16", "gemm(a.T, b).math(bf16).stages(3) >> bias(bias)",
        (512, 1024), (512, 768), "f32", lambda nn, a, b, bias: a.T @ b + bias, BRAIN,
        {"bias": ("f32", (768,))}, (1024, 768),
    ),
    _gemm(
        "f16_sums_in_f16", "gemm(a.T, b).acc(f16) >> bias(bias)",
        (128, 1024), (128, 768), "f16", lambda nn, a, b, bias: a.T @ b + bias, 5e-3,
        {"bias": ("f16", (768,))}, (1024, 768),
    ),
    _gemm(
        "wide_tile_residual", "gemm(a, b.T).out(bf16).tile(256, 128, 64).cluster(2, 1).stages(3) >> add(res) >> silu()",
        (2048, 1024), (1024, 1024), "bf16", lambda nn, a, b, res: nn.silu(a @ b.T + res), BRAIN,
        {"res": ("bf16", (2048, 1024))}, (2048, 1024), baseline="bfloat16",
    ),
    Case(
        "bmm_one_matrix_for_all_tf32",
        """
program bmm_one_matrix_for_all_tf32(a: f32[M, K], b: f32[B, N, K], res: f32[B, M, N]) -> f32[B, M, N]
  y = bmm(a.unsqueeze(0).expand(5, 192, 256), b.permute(0, 2, 1)).tile(64, 64, 32) >> add(res) >> hardswish()
  return y
""",
        {"a": ("f32", (192, 256)), "b": ("f32", (5, 320, 256)), "res": ("f32", (5, 192, 320))},
        lambda nn, a, b, res: nn.hardswish(a @ b.transpose(1, 2) + res),
        TF32,
        policy="tf32",
        collective=True,
    ),
)  # fmt: skip


PLAIN = (
    _gemm(
        "strict_linear_gelu", "gemm(a, b.T).math(f32) >> bias(bias) >> gelu()",
        (1000, 777), (333, 777), "f32", lambda nn, a, b, bias: nn.gelu(nn.linear(a, b, bias)), FULL,
        {"bias": ("f32", (333,))}, (1000, 333), policy="strict", collective=False, baseline="float32",
    ),
    Case(
        "strict_bmm_odd",
        """
program strict_bmm_odd(a: f32[B, M, K], b: f32[B, K, N], c: f32[M, 1]) -> f32[B, M, N]
  y = bmm(a, b).math(f32) >> mul(c)
  return y
""",
        {"a": ("f32", (7, 37, 53)), "b": ("f32", (7, 53, 29)), "c": ("f32", (37, 1))},
        lambda nn, a, b, c: (a @ b) * c,
        FULL,
        policy="strict",
    ),
    _map(
        "map_flat", "map(x * 2 + z) >> gelu()",
        {"x": ("f32", (1 << 22,)), "z": ("f32", (1 << 22,))}, "f32[4194304]", lambda nn, x, z: nn.gelu(x * 2 + z),
    ),
    _map(
        "map_row_and_column", "map((x - mean) * scale) >> add(shift) >> silu()",
        {"x": ("f32", (513, 1024)), "mean": ("f32", (513, 1)), "scale": ("f32", (513, 1)), "shift": ("f32", (1024,))},
        "f32[513, 1024]", lambda nn, x, mean, scale, shift: nn.silu((x - mean) * scale + shift),
    ),
    _map(
        "map_odd_extents", "map(mish(x) / (1 + abs(z)))",
        {"x": ("f32", (17, 3, 129)), "z": ("f32", (3, 1))}, "f32[17, 3, 129]",
        lambda nn, x, z: nn.mish(x) / (1 + z.abs()),
    ),
    _map(
        "map_transposed", "map(tanh(x.T) + z)",
        {"x": ("f32", (640, 200)), "z": ("f32", (200, 640))}, "f32[200, 640]", lambda nn, x, z: x.T.tanh() + z,
    ),
    _map(
        "map_half", "map(x * z) >> softplus() >> hardtanh(0.1, 0.9)",
        {"x": ("f16", (300, 256)), "z": ("f16", (256,))}, "f16[300, 256]",
        lambda nn, x, z: nn.softplus(x * z).clamp(0.1, 0.9), HALF,
    ),
    _map(
        "map_permuted_bf16", "map(elu(x.permute(0, 2, 1)))",
        {"x": ("bf16", (5, 33, 64))}, "bf16[5, 64, 33]", lambda nn, x: nn.elu(x.transpose(1, 2)), BRAIN,
    ),
    _map(
        "map_where", "map(where(gt(x, 0.5), x, min(z, 1) * -2)) >> clamp(-1, 1.5)",
        {"x": ("f32", (4096, 33)), "z": ("f32", (4096, 33))}, "f32[4096, 33]",
        lambda nn, x, z: x.where(x > 0.5, z.clamp(max=1) * -2).clamp(-1, 1.5),
    ),
    _map(
        "map_many_functions",
        "map(sigmoid(x) + erf(x) + rsqrt(1 + square(x)) + logsigmoid(x) + softsign(x) + tanhshrink(x)) >> selu()",
        {"x": ("f32", (1000, 1000))}, "f32[1000, 1000]",
        lambda nn, x: nn.selu(
            x.sigmoid() + x.erf() + (1 + x * x).rsqrt() + nn.logsigmoid(x) + nn.softsign(x) + nn.tanhshrink(x)
        ),
    ),
    _map("cast_to_f16", "cast(x, f16)", {"x": ("f32", (333, 512))}, "f16[333, 512]", lambda nn, x: x, HALF),
    _map("cast_to_bf16_odd", "cast(x, bf16)", {"x": ("f32", (7, 13, 11))}, "bf16[7, 13, 11]", lambda nn, x: x, BRAIN),
    _map("cast_back", "cast(x.T, f32)", {"x": ("f16", (64, 96))}, "f32[96, 64]", lambda nn, x: x.T, FULL),
)  # fmt: skip

ROWS = (
    _map(
        "softmax_wide", "softmax(x)", {"x": ("f32", (4096, 8192))}, "f32[4096, 8192]",
        lambda nn, x: nn.softmax(x, -1), FULL, "float32",
    ),
    _map(
        "softmax_odd_bf16_scaled", "softmax(x) >> mul(c) >> add(r.T)",
        {"x": ("bf16", (3000, 1471)), "c": ("f32", (3000, 1)), "r": ("bf16", (1471, 3000))}, "bf16[3000, 1471]",
        lambda nn, x, c, r: nn.softmax(x, -1) * c + r.T, BRAIN,
    ),
    _map(
        "log_softmax_vocabulary_f16", "log_softmax(x)", {"x": ("f16", (512, 50257))}, "f16[512, 50257]",
        lambda nn, x: nn.log_softmax(x, -1), HALF, "float16",
    ),
    _map(
        "softmax_few_long_rows", "softmax(x).threads(512)", {"x": ("f32", (3, 1 << 21))}, "f32[3, 2097152]",
        lambda nn, x: nn.softmax(x, -1), FULL, "float32",
    ),
    _map(
        "layer_norm_f16_gelu", "layer_norm(x, weight, bias) >> gelu() >> add(res)",
        {
            "x": ("f16", (8, 1024, 1024)), "weight": ("f16", (1024,)), "bias": ("f16", (1024,)),
            "res": ("f16", (8, 1024, 1024)),
        },
        "f16[8, 1024, 1024]",
        lambda nn, x, weight, bias, res: nn.gelu(nn.layer_norm(x, (1024,), weight, bias)) + res, HALF, "float16",
    ),
    _map(
        "layer_norm_odd", "layer_norm(x, eps=1e-3)", {"x": ("f32", (777, 1471))}, "f32[777, 1471]",
        lambda nn, x: nn.layer_norm(x, (1471,), eps=1e-3),
    ),
    _map(
        "layer_norm_few_long_rows", "layer_norm(x, weight) >> mul(col)",
        {"x": ("f32", (16, 1 << 18)), "weight": ("f32", (1 << 18,)), "col": ("f32", (16, 1))}, "f32[16, 262144]",
        lambda nn, x, weight, col: nn.layer_norm(x, (1 << 18,), weight) * col,
    ),
    _map(
        "rms_norm_bf16", "rms_norm(x, weight) >> silu()",
        {"x": ("bf16", (4096, 4096)), "weight": ("bf16", (4096,))}, "bf16[4096, 4096]",
        lambda nn, x, weight: nn.silu(nn.rms_norm(x, (4096,), weight, eps=1e-5)), BRAIN, "bfloat16",
    ),
    _map(
        "reduce_sum_short_rows", "reduce(x, sum) >> relu() >> add(z)",
        {"x": ("f32", (1 << 20, 10)), "z": ("f32", (1 << 20,))}, "f32[1048576]",
        lambda nn, x, z: nn.relu(x.sum(-1)) + z, FULL, "float32",
    ),
    _map(
        "reduce_max_f16_keepdim", "reduce(x, max, keepdim=true) >> mul(c)",
        {"x": ("f16", (16, 512, 1000)), "c": ("f16", (512, 1))}, "f16[16, 512, 1]",
        lambda nn, x, c: x.amax(-1, keepdim=True) * c, HALF,
    ),
    _map(
        "reduce_logsumexp", "reduce(x, logsumexp, dims=2)", {"x": ("f32", (2000, 33, 65))}, "f32[2000]",
        lambda nn, x: x.logsumexp((1, 2)), FULL,
    ),
    _map(
        "reduce_whole_tensor_sumsq", "reduce(x, sumsq, dims=2) >> sqrt()", {"x": ("f32", (8192, 8192))}, "f32[]",
        lambda nn, x: x.square().sum().sqrt(), FULL, "float32",
    ),
    _map(
        "reduce_few_rows_mean", "reduce(x, mean) >> abs()", {"x": ("bf16", (64, 1 << 18))}, "bf16[64]",
        lambda nn, x: x.mean(-1).abs(), BRAIN,
    ),
)  # fmt: skip

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        *PLAIN,
        *ROWS,
        *ROWS_ANY_DIMS,
        *ampere.CASES,
        *convolutions.PLAIN,
        *movement.CASES,
        *NUMERICS,
        *REDUCTIONS,
        *COLLECTIVES,
        *convolutions.TENSOR_CORES,
    )
}
"""By name; those that compile in a second come first."""
