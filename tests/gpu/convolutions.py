"""Cases of convolutions: on the tensor cores by each schedule and layout rule, and by the plain kernels."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.gpu.case import BRAIN, FULL, HALF, TF32, Case, Reference

LONG = 4e-6
"""Allowed of FP32 sums over a thousand products and more."""
Tensors = dict[str, tuple[str, tuple[int, ...]]]


def _conv(
    name: str, stage: str, x: tuple[int, ...], w: tuple[int, ...], out: tuple[int, ...], dtype: str,
    reference: Reference, tolerance: float, more: Tensors | None = None, **rest: Any,
) -> Case:  # fmt: skip
    """A case of one convolution ``stage``; its ``xl``, ``wl`` and ``rl`` are x, w and r turned channels last."""
    found: Tensors = {"x": (dtype, x), "w": (dtype, w), **(more or {})}
    parameters = tuple(key for key in found if key in ("w", "b"))
    tensors = {key: found[key] for key in (*(key for key in found if key not in parameters), *parameters)}
    head = ", ".join(f"{key}: {kind}{list(shape)}" for key, (kind, shape) in tensors.items())
    lines = [f"program {name}({head}) -> {dtype}{list(out)}"]
    for key in "xwr":
        if f"{key}l" in stage:
            lines.append(f"  {key}l = relayout({key}, channels_last)" + " @once" * (key == "w"))
    lines += [f"  y = {stage}", "  return y", ""]
    return Case(name, "\n".join(lines), tensors, reference, tolerance, parameters=parameters, **rest)


_tensor_core = partial(_conv, collective=True)

TENSOR_CORES = (
    _tensor_core(
        "conv2d_3x3_bias_relu_residual_f16", "conv2d(xl, wl, padding=1) >> bias(b) >> relu() >> add(rl)",
        (32, 64, 56, 56), (64, 64, 3, 3), (32, 64, 56, 56), "f16",
        lambda nn, x, w, b, r: nn.relu(nn.conv2d(x, w, b, padding=1)) + r, HALF,
        {"b": ("f16", (64,)), "r": ("f16", (32, 64, 56, 56))}, baseline="float16",
    ),
    _tensor_core(
        "conv2d_3x3_wide_f16",
        "conv2d(xl, wl, padding=1).tile(128, 256, 64).cluster(2, 1).schedule(cooperative).stages(3)\n"
        "       .raster(m).swizzle(2)",
        (16, 256, 28, 28), (256, 256, 3, 3), (16, 256, 28, 28), "f16",
        lambda nn, x, w: nn.conv2d(x, w, padding=1), HALF, baseline="float16",
    ),
    _tensor_core(
        "conv2d_stride_pingpong_bf16",
        "conv2d(xl, wl, stride=(2, 1), padding=(1, 0)).tile(64, 128, 64).cluster(1, 2).schedule(pingpong)\n"
        "       >> scale(0.5) >> bias(b)",
        (8, 128, 29, 31), (256, 128, 3, 3), (8, 256, 15, 29), "bf16",
        lambda nn, x, w, b: nn.conv2d(x, w, stride=(2, 1), padding=(1, 0)) * 0.5 + b[:, None, None], BRAIN,
        {"b": ("f32", (256,))},
    ),
    _tensor_core(
        "conv1d_dilated_streamk_f16",
        "conv1d(xl, wl, dilation=3, padding=6).tile(128, 128, 64).schedule(streamk) >> gelu()",
        (2, 512, 500), (128, 512, 5), (2, 128, 500), "f16",
        lambda nn, x, w: nn.gelu(nn.conv1d(x, w, dilation=3, padding=6)), HALF,
    ),
    _tensor_core(
        "conv3d_tf32", "conv3d(xl, wl, padding=1) >> bias(b) >> silu()",
        (2, 32, 12, 14, 10), (64, 32, 3, 3, 3), (2, 64, 12, 14, 10), "f32",
        lambda nn, x, w, b: nn.silu(nn.conv3d(x, w, b, padding=1)), TF32, {"b": ("f32", (64,))}, policy="tf32",
    ),
    _tensor_core(
        "conv2d_odd_pixels_few_channels_tf32",
        "conv2d(xl, wl, padding=same).tile(128, 64, 32) >> add(rl) >> sub(b.reshape(36, 1, 1))",
        (3, 20, 13, 17), (36, 20, 4, 5), (3, 36, 13, 17), "f32",
        lambda nn, x, w, b, r: nn.conv2d(x, w, padding="same") + r - b[:, None, None], TF32,
        {"b": ("f32", (36,)), "r": ("f32", (3, 36, 13, 17))}, policy="tf32",
    ),
    _tensor_core(
        "conv2d_1x1_f16", "conv2d(xl, wl) >> relu()",
        (16, 512, 14, 14), (1024, 512, 1, 1), (16, 1024, 14, 14), "f16",
        lambda nn, x, w: nn.relu(nn.conv2d(x, w)), HALF, baseline="float16",
    ),
    _tensor_core(
        "conv2d_first_layer_copied", "conv2d(x, w, stride=2, padding=3).math(f16) >> bias(b) >> relu()",
        (8, 3, 112, 112), (64, 3, 7, 7), (8, 64, 56, 56), "f32",
        lambda nn, x, w, b: nn.relu(nn.conv2d(x, w, b, stride=2, padding=3)), HALF, {"b": ("f32", (64,))},
        baseline="float16",
    ),
    _tensor_core(
        "conv3d_copied_bf16", "conv3d(xl, w, stride=(1, 2, 2)).math(bf16).tile(128, 64, 16)",
        (2, 12, 9, 17, 15), (40, 12, 2, 3, 3), (2, 40, 8, 8, 7), "f32",
        lambda nn, x, w: nn.conv3d(x, w, stride=(1, 2, 2)), BRAIN,
    ),
    _tensor_core(
        "conv_transpose2d_stride_1_tf32", "conv_transpose2d(xl, w, padding=1).cluster(2, 1) >> bias(b)",
        (4, 64, 20, 20), (64, 96, 3, 3), (4, 96, 20, 20), "f32",
        lambda nn, x, w, b: nn.conv_transpose2d(x, w, b, padding=1), TF32, {"b": ("f32", (96,))}, policy="tf32",
    ),
    _tensor_core(
        "conv_transpose3d_dilated_f16", "conv_transpose3d(xl, w, dilation=(1, 2, 1), padding=(0, 1, 2))",
        (2, 24, 5, 7, 9), (24, 48, 3, 3, 5), (2, 48, 7, 9, 9), "f16",
        lambda nn, x, w: nn.conv_transpose3d(x, w, dilation=(1, 2, 1), padding=(0, 1, 2)), HALF,
    ),
    _tensor_core(
        "conv2d_joined_taps_bf16", "conv2d(xl, wl, stride=(1, 2), padding=(1, 0)) >> bias(b) >> gelu()",
        (8, 16, 57, 65), (64, 16, 3, 5), (8, 64, 57, 31), "bf16",
        lambda nn, x, w, b: nn.gelu(nn.conv2d(x, w, stride=(1, 2), padding=(1, 0)) + b[:, None, None]), BRAIN,
        {"b": ("f32", (64,))},
    ),
    _tensor_core(
        "conv1d_joined_taps_tf32", "conv1d(xl, wl) >> relu()",
        (4, 12, 1003), (32, 12, 7), (4, 32, 997), "f32",
        lambda nn, x, w: nn.relu(nn.conv1d(x, w)), TF32, policy="tf32",
    ),
    _tensor_core(
        "conv2d_joined_taps_copied", "conv2d(x, w, stride=4).math(f16) >> bias(b) >> relu()",
        (8, 3, 115, 115), (64, 3, 11, 11), (8, 64, 27, 27), "f32",
        lambda nn, x, w, b: nn.relu(nn.conv2d(x, w, b, stride=4)), HALF, {"b": ("f32", (64,))},
    ),
    _tensor_core(
        "conv_transpose2d_joined_taps_f16", "conv_transpose2d(xl, w, padding=2)",
        (4, 8, 20, 20), (8, 32, 3, 3), (4, 32, 18, 18), "f16",
        lambda nn, x, w: nn.conv_transpose2d(x, w, padding=2), HALF,
    ),
    _tensor_core(
        "conv3d_joined_taps_f16", "conv3d(xl, wl, dilation=(2, 1, 1)).tile(128, 64, 16)",
        (2, 8, 9, 17, 15), (40, 8, 2, 3, 3), (2, 40, 7, 15, 13), "f16",
        lambda nn, x, w: nn.conv3d(x, w, dilation=(2, 1, 1)), HALF,
    ),
    Case(
        "conv2d_padded_channels",
        """
program conv2d_padded_channels(x: f16[8, 3, 64, 64], w: f16[32, 3, 3, 3]) -> f16[8, 32, 62, 62]
  xp = pad(x, (0, 0, 0, 0, 0, 5))
  wp = pad(w, (0, 0, 0, 0, 0, 5)) @once
  xl = relayout(xp, channels_last)
  wl = relayout(wp, channels_last) @once
  y = conv2d(xl, wl).math(f16)
  return y
""",
        {"x": ("f16", (8, 3, 64, 64)), "w": ("f16", (32, 3, 3, 3))},
        lambda nn, x, w: nn.conv2d(x, w),
        HALF,
        collective=True,
        parameters=("w",),
    ),
)  # fmt: skip

PLAIN = (
    _conv(
        "conv2d_plain_f32", "conv2d(x, w, padding=1) >> bias(b) >> relu()",
        (16, 64, 56, 56), (128, 64, 3, 3), (16, 128, 56, 56), "f32",
        lambda nn, x, w, b: nn.relu(nn.conv2d(x, w, b, padding=1)), LONG, {"b": ("f32", (128,))},
        policy="strict", baseline="float32",
    ),
    _conv(
        "conv2d_plain_channels_last", "conv2d(xl, wl, stride=2, dilation=2).tile(128, 32, 16) >> add(q)",
        (4, 33, 30, 31), (24, 33, 3, 3), (4, 24, 13, 14), "f32",
        lambda nn, x, w, q: nn.conv2d(x, w, stride=2, dilation=2) + q, LONG, {"q": ("f32", (4, 24, 13, 14))},
        policy="strict",
    ),
    _conv(
        "conv1d_plain_bf16", "conv1d(x, w, stride=3, padding=4)",
        (16, 64, 1001), (100, 64, 9), (16, 100, 334), "bf16",
        lambda nn, x, w: nn.conv1d(x, w, stride=3, padding=4), BRAIN,
    ),
    _conv(
        "conv3d_plain_few_channels", "conv3d(x, w, padding=1) >> mul(g)",
        (4, 3, 16, 20, 20), (16, 3, 3, 3, 3), (4, 16, 16, 20, 20), "f32",
        lambda nn, x, w, g: nn.conv3d(x, w, padding=1) * g, FULL, {"g": ("f32", (4, 16, 1, 1, 1))},
        policy="strict", baseline="float32",
    ),
    _conv(
        "conv2d_grouped_f16", "conv2d(xl, wl, padding=1, groups=4) >> bias(b)",
        (8, 64, 28, 28), (128, 16, 3, 3), (8, 128, 28, 28), "f16",
        lambda nn, x, w, b: nn.conv2d(x, w, b, padding=1, groups=4), HALF, {"b": ("f16", (128,))},

    ),
    _conv(
        "conv2d_depthwise", "conv2d(x, w, padding=1, groups=128) >> bias(b) >> relu()",
        (16, 128, 64, 64), (128, 1, 3, 3), (16, 128, 64, 64), "f32",
        lambda nn, x, w, b: nn.relu(nn.conv2d(x, w, b, padding=1, groups=128)), FULL, {"b": ("f32", (128,))},
        policy="strict", baseline="float32",
    ),
    _conv(
        "conv2d_depthwise_multiplier_f16", "conv2d(xl, w, stride=2, groups=48)",
        (8, 48, 33, 35), (96, 1, 5, 3), (8, 96, 15, 17), "f16",
        lambda nn, x, w: nn.conv2d(x, w, stride=2, groups=48), HALF,
    ),
    _conv(
        "conv_transpose2d_stride_2", "conv_transpose2d(x, w, stride=2, padding=1) >> bias(b) >> scale(2)",
        (8, 64, 32, 32), (64, 32, 4, 4), (8, 32, 64, 64), "f32",
        lambda nn, x, w, b: nn.conv_transpose2d(x, w, b, stride=2, padding=1) * 2, FULL, {"b": ("f32", (32,))},
        policy="strict", baseline="float32",
    ),
    _conv(
        "conv_transpose3d_phases_groups",
        "conv_transpose3d(xl, w, stride=(2, 3, 1), padding=(1, 0, 1), output_padding=(1, 2, 0), groups=2)",
        (2, 16, 5, 4, 6), (16, 10, 3, 2, 3), (2, 20, 10, 13, 6), "f32",
        lambda nn, x, w: nn.conv_transpose3d(
            x, w, stride=(2, 3, 1), padding=(1, 0, 1), output_padding=(1, 2, 0), groups=2
        ),
        FULL, policy="strict",
    ),
    _conv(
        "conv_transpose1d_depthwise", "conv_transpose1d(x, w, stride=4, padding=1, dilation=2, groups=32)",
        (8, 32, 300), (32, 1, 6), (8, 32, 1205), "f32",
        lambda nn, x, w: nn.conv_transpose1d(x, w, stride=4, padding=1, dilation=2, groups=32), FULL,
        policy="strict",
    ),
)  # fmt: skip
"""Those that compile in a few seconds."""
