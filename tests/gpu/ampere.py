"""Programs for sm_80: every way its products are multiplied and loaded, and a stage of each kind besides.

A Hopper card runs them from their PTX.
"""

from __future__ import annotations

import functools

from tests.gpu.case import BRAIN, HALF, TF32, Case, one_product, one_stage

SPLIT = 5e-6
"""Relative error allowed for three products of tf32."""

_gemm = functools.partial(one_product, target="sm_80")
_plain = functools.partial(one_stage, target="sm_80")

PRODUCTS = (
    _gemm(
        "ampere_linear_bias_relu_4096", "gemm(a, b.T).tile(128, 256, 32).shared(163).stages(4) >> bias(bias) >> relu()",
        (4096, 4096), (4096, 4096), "f16", lambda nn, a, b, bias: nn.relu(nn.linear(a, b, bias)), HALF,
        {"bias": ("f16", (4096,))}, (4096, 4096), baseline="float16",
    ),
    _gemm(
        "ampere_every_link",
        "gemm(a, b.T).tile(64, 128, 32) >> bias(bias) >> mul(col) >> add(res) >> sub(aux) >> mul(one)\n"
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
    _gemm(
        "ampere_bf16_nn", "gemm(a, b).out(f32).tile(128, 128, 64).warps(2, 2).stages(3) >> silu()",
        (1000, 512), (512, 768), "bf16 -> f32", lambda nn, a, b: nn.silu(a @ b), BRAIN, out=(1000, 768),
        baseline="bfloat16",
    ),
    _gemm(
        "ampere_bf16_tn", "gemm(a.T, b).tile(256, 64, 32).swizzle(1)",
        (512, 1024), (512, 768), "bf16", lambda nn, a, b: a.T @ b, BRAIN, out=(1024, 768),
    ),
    _gemm(
        "ampere_f16_tt_sums_in_f16", "gemm(a.T, b.T).acc(f16) >> bias(bias)",
        (128, 1024), (768, 128), "f16", lambda nn, a, b, bias: a.T @ b.T + bias, 5e-3,
        {"bias": ("f16", (768,))}, (1024, 768),
    ),
    _gemm(
        "ampere_f16_odd", "gemm(a, b.T).out(f32) >> bias(bias) >> gelu()",
        (333, 107), (105, 107), "f16 -> f32", lambda nn, a, b, bias: nn.gelu(nn.linear(a, b, bias)), HALF,
        {"bias": ("f32", (105,))}, (333, 105),
    ),
    _gemm(
        "ampere_f16_even", "gemm(a, b).tile(64, 64, 32) >> add(res)",
        (1000, 514), (514, 330), "f16", lambda nn, a, b, res: a @ b + res, HALF, {"res": ("f16", (1000, 330))},
        (1000, 330),
    ),
    _gemm(
        "ampere_tf32_nt", "gemm(a, b.T) >> bias(bias) >> gelu()",
        (1024, 2048), (768, 2048), "f32", lambda nn, a, b, bias: nn.gelu(nn.linear(a, b, bias)), TF32,
        {"bias": ("f32", (768,))}, (1024, 768), policy="tf32", baseline="float32",
    ),
    _gemm(
        "ampere_tf32_odd_nn", "gemm(a, b).tile(128, 64, 16) >> tanh()",
        (777, 333), (333, 129), "f32", lambda nn, a, b: (a @ b).tanh(), TF32, out=(777, 129), policy="tf32",
    ),
    _gemm(
        "ampere_tf32_tn_deep", "gemm(a.T, b).tile(64, 64, 32).stages(5) >> bias(bias)",
        (512, 1024), (512, 768), "f32", lambda nn, a, b, bias: a.T @ b + bias, TF32,
        {"bias": ("f32", (768,))}, (1024, 768), policy="tf32",
    ),
    _gemm(
        "ampere_tf32x3", "gemm(a, b.T) >> bias(bias) >> gelu()",
        (1024, 1024), (768, 1024), "f32", lambda nn, a, b, bias: nn.gelu(nn.linear(a, b, bias)), SPLIT,
        {"bias": ("f32", (768,))}, (1024, 768), policy="strict", baseline="float32",
    ),
    _gemm(
        "ampere_tf32x3_tt", "gemm(a.T, b.T).math(tf32x3).tile(64, 64, 16)",
        (513, 300), (200, 513), "f32", lambda nn, a, b: a.T @ b.T, SPLIT, out=(300, 200), policy="strict",
    ),
    _gemm(
        "ampere_f32_rounded_to_bf16", "gemm(a, b).math(bf16) >> mul(col)",
        (512, 1024), (1024, 768), "f32", lambda nn, a, b, col: (a @ b) * col, BRAIN,
        {"col": ("f32", (512, 1))}, (512, 768),
    ),
    _gemm(
        "ampere_f32_rounded_to_f16", "gemm(a, b.T).math(f16).tile(128, 128, 32)",
        (512, 1024), (768, 1024), "f32", lambda nn, a, b: a @ b.T, HALF, out=(512, 768),
    ),
    _gemm(
        "ampere_split", "gemm(a, b).out(f32).tile(64, 64, 64).split(8) >> bias(bias) >> relu()",
        (128, 16384), (16384, 192), "f16 -> f32", lambda nn, a, b, bias: nn.relu(a @ b + bias), HALF,
        {"bias": ("f32", (192,))}, (128, 192), baseline="float16",
    ),
    _gemm(
        "ampere_streamk", "gemm(a, b.T).tile(128, 128, 32).schedule(streamk) >> bias(bias)",
        (1408, 4096), (1280, 4096), "f16", lambda nn, a, b, bias: a @ b.T + bias, HALF,
        {"bias": ("f32", (1280,))}, (1408, 1280), baseline="float16",
    ),
    _gemm(
        "ampere_small_tile", "gemm(a, b.T).tile(32, 32, 64).warps(2, 1) >> bias(bias)",
        (200, 304), (136, 304), "f16", lambda nn, a, b, bias: a @ b.T + bias, HALF, {"bias": ("f32", (136,))},
        (200, 136),
    ),
    _gemm(
        "ampere_narrow_warps", "gemm(a.T, b).tile(64, 64, 64).warps(2, 2)",
        (304, 200), (304, 136), "f16", lambda nn, a, b: a.T @ b, HALF, out=(200, 136),
    ),
    _gemm(
        "ampere_flat_warps", "gemm(a.T, b).tile(64, 128, 32).warps(1, 4)",
        (304, 200), (304, 136), "bf16", lambda nn, a, b: a.T @ b, BRAIN, out=(200, 136),
    ),
    _gemm(
        "ampere_many_warps", "gemm(a, b.T).tile(256, 128, 32).warps(4, 2).stages(2)",
        (1000, 512), (768, 512), "f16", lambda nn, a, b: a @ b.T, HALF, out=(1000, 768),
    ),
    _gemm(
        "ampere_tf32x3_small_tile", "gemm(a.T, b).math(tf32x3).tile(32, 32, 32).warps(2, 1)",
        (300, 200), (300, 136), "f32", lambda nn, a, b: a.T @ b, SPLIT, out=(200, 136), policy="strict",
    ),
    Case(
        "ampere_bmm_links",
        """
program ampere_bmm_links(a: bf16[B, M, K], b: bf16[B, K, N], bias: f32[B, 1, N], one: f32[B, 1, 1],
                         res: bf16[B, M, N]) -> bf16[B, M, N]
  y = bmm(a, b).tile(128, 128, 32) >> add(bias) >> mul(one) >> add(res)
  return y
""",
        {
            "a": ("bf16", (6, 200, 320)), "b": ("bf16", (6, 320, 264)), "bias": ("f32", (6, 1, 264)),
            "one": ("f32", (6, 1, 1)), "res": ("bf16", (6, 200, 264)),
        },
        lambda nn, a, b, bias, one, res: (a @ b + bias) * one + res,
        BRAIN,
        collective=True,
        target="sm_80",
    ),
    Case(
        "ampere_bmm_one_matrix_for_all_tf32",
        """
program ampere_bmm_one_matrix_for_all_tf32(a: f32[M, K], b: f32[B, N, K], res: f32[B, M, N]) -> f32[B, M, N]
  y = bmm(a.unsqueeze(0).expand(5, 192, 255), b.permute(0, 2, 1)).tile(64, 64, 16) >> add(res) >> hardswish()
  return y
""",
        {"a": ("f32", (192, 255)), "b": ("f32", (5, 321, 255)), "res": ("f32", (5, 192, 321))},
        lambda nn, a, b, res: nn.hardswish(a @ b.transpose(1, 2) + res),
        TF32,
        policy="tf32",
        collective=True,
        target="sm_80",
    ),
)  # fmt: skip

OTHERS = (
    _gemm(
        "ampere_strict_bias", "gemm(a, b.T).math(f32) >> bias(bias)",
        (100, 77), (33, 77), "f32", lambda nn, a, b, bias: nn.linear(a, b, bias), SPLIT,
        {"bias": ("f32", (33,))}, (100, 33), policy="strict", collective=False,
    ),
    _plain(
        "ampere_map", "map((x - mean) * scale) >> silu()",
        {"x": ("f32", (513, 1024)), "mean": ("f32", (513, 1)), "scale": ("f32", (513, 1))}, "f32[513, 1024]",
        lambda nn, x, mean, scale: nn.silu((x - mean) * scale),
    ),
    _plain(
        "ampere_conv2d", "conv2d(x, w, stride=2, padding=1) >> bias(b) >> relu()",
        {"x": ("f32", (4, 16, 33, 35)), "w": ("f32", (24, 16, 3, 3)), "b": ("f32", (24,))}, "f32[4, 24, 17, 18]",
        lambda nn, x, w, b: nn.relu(nn.conv2d(x, w, b, stride=2, padding=1)), SPLIT,
    ),
    _plain("ampere_cast", "cast(x, f16)", {"x": ("f32", (333, 512))}, "f16[333, 512]", lambda nn, x: x, HALF),
    _plain(
        "ampere_softmax", "softmax(x)", {"x": ("f32", (4096, 1471))}, "f32[4096, 1471]",
        lambda nn, x: nn.softmax(x, -1),
    ),
    _plain(
        "ampere_layer_norm", "layer_norm(x, weight, bias) >> gelu()",
        {"x": ("f16", (777, 1024)), "weight": ("f16", (1024,)), "bias": ("f16", (1024,))}, "f16[777, 1024]",
        lambda nn, x, weight, bias: nn.gelu(nn.layer_norm(x, (1024,), weight, bias)), HALF,
    ),
)  # fmt: skip

CASES = (*OTHERS, *PRODUCTS)
