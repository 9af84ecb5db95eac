"""Cases of what moves elements or pools windows of them: relayout, pad, pools, and maps of turned operands."""

from __future__ import annotations

from typing import Any

from tests.gpu.case import BRAIN, FULL, HALF, Case, one_stage


def _through_channels_last(
    name: str, stage: str, dtype: str, shape: tuple[int, ...], out: tuple[int, ...], reference: Any,
    tolerance: float = FULL, baseline: str = "",
) -> Case:  # fmt: skip
    """``stage`` on ``c``, which is ``x`` channels-last."""
    head = f"program {name}(x: {dtype}{list(shape)}) -> {dtype}{list(out)}"
    text = f"{head}\n  c = relayout(x, channels_last)\n  y = {stage}\n  return y\n"
    return Case(name, text, {"x": (dtype, shape)}, reference, tolerance, baseline=baseline)


CASES = (
    one_stage(
        "relayout_channels_last", "relayout(x, channels_last)", {"x": ("f32", (16, 64, 112, 112))},
        "f32[16, 64, 112, 112]", lambda nn, x: x, FULL,
    ),
    one_stage(
        "relayout_three_channels", "relayout(x, channels_last)", {"x": ("f16", (8, 3, 225, 223))},
        "f16[8, 3, 225, 223]", lambda nn, x: x, FULL,
    ),
    _through_channels_last(
        "relayout_there_and_back", "relayout(c, row_major)", "bf16", (4, 70, 33, 35), (4, 70, 33, 35),
        lambda nn, x: x,
    ),
    one_stage(
        "relayout_column_major", "relayout(x, column_major)", {"x": ("f32", (3, 1000, 777))}, "f32[3, 1000, 777]",
        lambda nn, x: x, FULL,
    ),
    one_stage(
        "map_turned_beside_a_row", "map(x.permute(0, 2, 3, 1) * z) >> relu()",
        {"x": ("f32", (7, 96, 31, 33)), "z": ("f32", (96,))}, "f32[7, 31, 33, 96]",
        lambda nn, x, z: nn.relu(x.permute(0, 2, 3, 1) * z), FULL,
    ),
    one_stage(
        "map_two_turned_f16", "map(x.T + z.T)", {"x": ("f16", (1000, 520)), "z": ("f16", (1000, 520))},
        "f16[520, 1000]", lambda nn, x, z: x.T + z.T, HALF,
    ),
    one_stage(
        "cast_turned_f16", "cast(x.T, f16)", {"x": ("f32", (513, 260))}, "f16[260, 513]", lambda nn, x: x.T, HALF,
    ),
    one_stage(
        "pad_odd_rows", "pad(x, (0, 5))", {"x": ("f32", (1000, 779))}, "f32[1000, 784]",
        lambda nn, x: nn.pad(x, (0, 5)), FULL,
    ),
    one_stage(
        "pad_whole_vectors_f16", "pad(x, (8, 8, 1, 1), value=-2)", {"x": ("f16", (16, 32, 56, 64))},
        "f16[16, 32, 58, 80]", lambda nn, x: nn.pad(x, (8, 8, 1, 1), value=-2.0), FULL,
    ),
    _through_channels_last(
        "pad_channels_to_eight", "pad(c, (1, 2, 0, 0, 0, 5))", "f32", (8, 3, 65, 67), (8, 8, 65, 70),
        lambda nn, x: nn.pad(x, (1, 2, 0, 0, 0, 5)),
    ),
    one_stage(
        "max_pool2d_stem", "max_pool2d(x, 3, stride=2, padding=1) >> relu()", {"x": ("f32", (16, 64, 112, 112))},
        "f32[16, 64, 56, 56]", lambda nn, x: nn.relu(nn.max_pool2d(x, 3, 2, 1)), FULL, "float32",
    ),
    _through_channels_last(
        "max_pool2d_stem_channels_last", "max_pool2d(c, 3, stride=2, padding=1)", "f16", (16, 64, 112, 112),
        (16, 64, 56, 56), lambda nn, x: nn.max_pool2d(x, 3, 2, 1), FULL,
    ),
    one_stage(
        "max_pool1d_dilated", "max_pool1d(x, 8, 1, 4, 3)", {"x": ("f32", (64, 64, 4096))}, "f32[64, 64, 4083]",
        lambda nn, x: nn.max_pool1d(x, 8, 1, 4, 3), FULL,
    ),
    one_stage(
        "max_pool3d_ceil", "max_pool3d(x, 3, 2, 1, 3, true)", {"x": ("f32", (2, 5, 33, 34, 35))},
        "f32[2, 5, 15, 16, 16]", lambda nn, x: nn.max_pool3d(x, 3, 2, 1, 3, True), FULL,
    ),
    one_stage(
        "avg_pool2d_wide", "avg_pool2d(x, 11)", {"x": ("f32", (16, 64, 256, 256))}, "f32[16, 64, 23, 23]",
        lambda nn, x: nn.avg_pool2d(x, 11), FULL, "float32",
    ),
    one_stage(
        "avg_pool2d_border_bf16", "avg_pool2d(x, 3, 2, 1, true, count_include_pad=false) >> add(b)",
        {"x": ("bf16", (4, 32, 57, 60)), "b": ("bf16", (32, 1, 1))}, "bf16[4, 32, 29, 31]",
        lambda nn, x, b: nn.avg_pool2d(x, 3, 2, 1, True, False) + b, BRAIN,
    ),
    _through_channels_last(
        "avg_pool3d_channels_last", "avg_pool3d(c, 3, 2, 1)", "f32", (2, 32, 17, 33, 35), (2, 32, 9, 17, 18),
        lambda nn, x: nn.avg_pool3d(x, 3, 2, 1),
    ),
    one_stage(
        "avg_pool1d_whole_row", "avg_pool1d(x, 2000)", {"x": ("f32", (64, 32, 4000))}, "f32[64, 32, 2]",
        lambda nn, x: nn.avg_pool1d(x, 2000), FULL,
    ),
)  # fmt: skip
