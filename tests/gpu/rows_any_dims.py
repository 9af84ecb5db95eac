"""Row stages along any dimensions: rows in pieces, rows side by side, places, and the norms by channel."""

from __future__ import annotations

from typing import Any

from tests.gpu.case import BRAIN, FULL, HALF, Case, one_stage


def _rms(x: Any, dim: Any, eps: float = 1e-5) -> Any:
    return x * (x.square().mean(dim, keepdim=True) + eps).rsqrt()


_IMAGE = (64, 64, 128, 128)
_MODEL = {"w": ("f32", (64,)), "b": ("f32", (64,))}

ROWS_ANY_DIMS = (
    one_stage(
        "reduce_sum_middle", "reduce(x, sum, dim=1)", {"x": ("f32", (16, 1024, 4096))}, "f32[16, 4096]",
        lambda nn, x: x.sum(1), FULL, "float32",
    ),
    one_stage(
        "reduce_mean_middle_odd", "reduce(x, mean, dim=1, keepdim=true) >> relu() >> add(c)",
        {"x": ("f32", (16, 1024, 4095)), "c": ("f32", (16, 1, 1))}, "f32[16, 1, 4095]",
        lambda nn, x, c: nn.relu(x.mean(1, keepdim=True)) + c, FULL, "float32",
    ),
    one_stage(
        "reduce_max_first", "reduce(x, max, dim=0)", {"x": ("f16", (1 << 20, 64))}, "f16[64]",
        lambda nn, x: x.amax(0), HALF, "float16",
    ),
    one_stage(
        "reduce_sum_around", "reduce(x, sum, dim=(0, 2, 3))", {"x": ("f32", _IMAGE)}, "f32[64]",
        lambda nn, x: x.sum((0, 2, 3)), FULL, "float32",
    ),
    one_stage(
        "reduce_norm2_alternating", "reduce(x, norm2, dim=(0, 2))", {"x": ("f32", (32, 33, 100, 96))}, "f32[33, 96]",
        lambda nn, x: x.square().sum((0, 2)).sqrt(), FULL,
    ),
    one_stage(
        "reduce_std", "reduce(x, std)", {"x": ("bf16", (4096, 4097))}, "bf16[4096]", lambda nn, x: x.std(-1), BRAIN,
    ),
    one_stage(
        "reduce_norm1_odd", "reduce(x, norm1)", {"x": ("f32", (2048, 32767))}, "f32[2048]",
        lambda nn, x: x.abs().sum(-1), FULL, "float32",
    ),
    one_stage(
        "reduce_argmax", "reduce(x, argmax)", {"x": ("f32", (4096, 8192))}, "i64[4096]",
        lambda nn, x: x.argmax(-1).to(x.dtype), FULL, "float32",
    ),
    one_stage(
        "reduce_argmin_middle", "reduce(x, argmin, dim=1)", {"x": ("f32", (32, 1024, 1024))}, "i64[32, 1024]",
        lambda nn, x: x.argmin(1).to(x.dtype), FULL, "float32",
    ),
    one_stage(
        "reduce_argmax_whole", "reduce(x, argmax, dims=2)", {"x": ("f32", (4096, 4096))}, "i64[]",
        lambda nn, x: x.argmax().to(x.dtype), FULL,
    ),
    one_stage(
        "softmax_middle", "softmax(x, dim=1)", {"x": ("f32", (64, 256, 4096))}, "f32[64, 256, 4096]",
        lambda nn, x: nn.softmax(x, 1), FULL, "float32",
    ),
    one_stage(
        "softmax_first_f16", "softmax(x, dim=0) >> mul(c)", {"x": ("f16", (8192, 2048)), "c": ("f16", (8192, 1))},
        "f16[8192, 2048]", lambda nn, x, c: nn.softmax(x, 0) * c, HALF, "float16",
    ),
    one_stage(
        "log_softmax_few_side_by_side", "log_softmax(x, dim=0)", {"x": ("f32", (1 << 20, 48))}, "f32[1048576, 48]",
        lambda nn, x: nn.log_softmax(x, 0), FULL, "float32",
    ),
    one_stage(
        "softmax_odd_rows", "softmax(x)", {"x": ("f32", (4096, 16381))}, "f32[4096, 16381]",
        lambda nn, x: nn.softmax(x, -1), FULL, "float32",
    ),
    one_stage(
        "rms_norm_channels", "rms_norm(x, dim=1)", {"x": ("f32", _IMAGE)}, "f32[64, 64, 128, 128]",
        lambda nn, x: _rms(x, 1), FULL, "float32",
    ),
    one_stage(
        "layer_norm_three_dims", "layer_norm(x, w, b, dims=3)",
        {"x": ("f32", (16, 64, 256, 256)), "w": ("f32", (64, 256, 256)), "b": ("f32", (64, 256, 256))},
        "f32[16, 64, 256, 256]", lambda nn, x, w, b: nn.layer_norm(x, (64, 256, 256), w, b), FULL, "float32",
    ),
    one_stage(
        "group_norm_8", "group_norm(x, 8, w, b) >> silu()", {"x": ("f32", _IMAGE), **_MODEL},
        "f32[64, 64, 128, 128]", lambda nn, x, w, b: nn.silu(nn.group_norm(x, 8, w, b)), FULL, "float32",
    ),
    one_stage(
        "group_norm_f16_odd", "group_norm(x, 4, w, b) >> add(r)",
        {"x": ("f16", (32, 64, 31, 33)), "w": ("f16", (64,)), "b": ("f16", (64,)), "r": ("f16", (64, 1, 33))},
        "f16[32, 64, 31, 33]", lambda nn, x, w, b, r: nn.group_norm(x, 4, w, b) + r, HALF,
    ),
    one_stage(
        "instance_norm_plain", "instance_norm(x)", {"x": ("f32", (112, 64, 128, 128))}, "f32[112, 64, 128, 128]",
        lambda nn, x: nn.instance_norm(x), FULL, "float32",
    ),
    one_stage(
        "batch_norm_image", "batch_norm(x, w, b) >> relu()", {"x": ("f32", _IMAGE), **_MODEL},
        "f32[64, 64, 128, 128]", lambda nn, x, w, b: nn.relu(nn.batch_norm(x, None, None, w, b, True)), FULL,
        "float32",
    ),
    one_stage(
        "batch_norm_table", "batch_norm(x, w, b)",
        {"x": ("f32", (1 << 16, 512)), "w": ("f32", (512,)), "b": ("f32", (512,))}, "f32[65536, 512]",
        lambda nn, x, w, b: nn.batch_norm(x, None, None, w, b, True), FULL, "float32",
    ),
    one_stage(
        "loss_mean_squares", "reduce((x - t) * (x - t), mean, dims=2)",
        {"x": ("f32", (32768, 1024)), "t": ("f32", (32768, 1024))}, "f32[]",
        lambda nn, x, t: (x - t).square().mean(), FULL, "float32",
    ),
    one_stage(
        "loss_hinge_middle", "reduce(relu(1 - x * w + c), sum, dim=1) >> add(d)",
        {"x": ("f16", (64, 1024, 1023)), "w": ("f16", (1024, 1)), "c": ("f16", (1023,)), "d": ("f32", (64, 1))},
        "f16[64, 1023]", lambda nn, x, w, c, d: nn.relu(1 - x * w + c).sum(1) + d, HALF,
    ),
    one_stage(
        "softmax_of_a_sum", "softmax(x * 0.125 + m)",
        {"x": ("f32", (64, 1024, 1024)), "m": ("f32", (1024, 1024))}, "f32[64, 1024, 1024]",
        lambda nn, x, m: nn.softmax(x * 0.125 + m, -1), FULL, "float32",
    ),
    Case(
        "norms_channels_last",
        """
program norms_channels_last(x: f16[N, C, H, W], w: f16[C], b: f16[C]) -> f16[N, C, H, W]
  t = relayout(x, channels_last)
  g = group_norm(t, 8, w, b) >> relu()
  n = batch_norm(g, w, b)
  s = softmax(n, dim=1)
  y = map(s * 64)
  return y
""",
        {"x": ("f16", (16, 64, 56, 56)), "w": ("f16", (64,)), "b": ("f16", (64,))},
        lambda nn, x, w, b: nn.softmax(
            nn.batch_norm(nn.relu(nn.group_norm(x, 8, w, b)), None, None, w, b, True), 1
        ) * 64,
        2 * HALF,
    ),
)  # fmt: skip
"""Most are timed beside torch: the sizes keep a card's memory busy for a while."""
