"""The speeds that are promised on a card: for each a program, what it is compared with, and the ratio to reach.

Nothing here imports torch or knows how anything is timed (``bench``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tests.gpu.case import FULL, HALF, TF32, Case, Reference

SIDE = 4096
WIDE = 2**28
"""Bytes of the tensors that the bandwidth figures read."""


@dataclass(frozen=True, slots=True)
class Figure:
    """``against`` torch: the case's reference in ``dtype``; copy: the bytes of the case's tensors at the measured
    copy bandwidth. ``goal`` is the least ratio of baseline time to ours."""

    case: Case
    goal: float
    against: Literal["torch", "copy"]
    dtype: str
    channels_last: bool = False


def _product(dtype: str, turned: bool, chain: str, goal: float, reference: Reference) -> Figure:
    """A 4096³ product in one element type; "tf32" is f32 data. ``turned``: B lies K-major, as a linear layer's."""
    data = "f32" if dtype == "tf32" else dtype
    b, call = ("f32[N, K]", "gemm(a, b.T)") if turned else ("f32[K, N]", "gemm(a, b)")
    name = f"gemm_{dtype}_{'nt' if turned else 'nn'}_{SIDE}" + ("_epilogue" if chain else "")
    bias = f", bias: {data}[N]" if chain else ""
    head = f"program {name}(a: {data}[M, K], b: {b.replace('f32', data)}{bias}) -> {data}[M, N]"
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {"a": (data, (SIDE, SIDE)), "b": (data, (SIDE, SIDE))}
    if chain:
        tensors["bias"] = (data, (SIDE,))
    case = Case(
        name, f"{head}\n  y = {call}{chain}\n  return y\n", tensors, reference,
        {"f16": HALF, "bf16": 8e-3, "tf32": TF32}[dtype], policy="tf32" if dtype == "tf32" else "half",
        collective=True,
    )  # fmt: skip
    return Figure(case, goal, "torch", data)


def _plain(turned: bool) -> Callable[..., Any]:
    return (lambda nn, a, b: a @ b.T) if turned else (lambda nn, a, b: a @ b)


PRODUCTS = tuple(
    _product(dtype, turned, "", 0.95, _plain(turned))
    for dtype in ("f16", "bf16", "tf32")
    for turned in (True, False)
)
EPILOGUES = (
    _product("f16", True, " >> bias(bias) >> relu()", 1.05, lambda nn, a, b, bias: nn.relu(nn.linear(a, b, bias))),
    _product("bf16", True, " >> bias(bias) >> gelu()", 1.05, lambda nn, a, b, bias: nn.gelu(nn.linear(a, b, bias))),
    _product("tf32", True, " >> bias(bias) >> silu()", 1.05, lambda nn, a, b, bias: nn.silu(nn.linear(a, b, bias))),
)


def _moving(
    name: str, dtype: str, shape: tuple[int, ...], stage: str, result: str, reference: Reference, goal: float = 0.9
) -> Figure:
    """A stage over one tensor ``x`` of 256 MB, against the copy bandwidth."""
    text = f"program {name}(x: {dtype}{list(shape)}) -> {result}\n  y = {stage}\n  return y\n"
    tolerance = FULL if dtype == "f32" else HALF
    return Figure(Case(name, text, {"x": (dtype, shape)}, reference, tolerance), goal, "copy", dtype)


_ROWS, _LONG, _HALF = (65536, 1024), (1024, 65536), (131072, 1024)
_IMAGES, _IMAGES_TEXT, _HALVED = (64, 64, 128, 128), "f32[64, 64, 128, 128]", "f32[64, 64, 64, 64]"

BANDWIDTH = (
    _moving("map_f32", "f32", _ROWS, "map(x * sigmoid(x))", "f32[65536, 1024]", lambda nn, x: nn.silu(x)),
    _moving("map_f16", "f16", _HALF, "map(relu(x))", "f16[131072, 1024]", lambda nn, x: nn.relu(x)),
    _moving("cast_f16", "f32", _ROWS, "cast(x, f16)", "f16[65536, 1024]", lambda nn, x: x.half().double()),
    _moving("sum_rows", "f32", _ROWS, "reduce(x, sum)", "f32[65536]", lambda nn, x: x.sum(-1)),
    _moving("max_long", "f32", _LONG, "reduce(x, max)", "f32[1024]", lambda nn, x: x.amax(-1)),
    _moving("mean_all", "f32", _ROWS, "reduce(x, sumsq, dims=2)", "f32[]", lambda nn, x: (x * x).sum()),
    Figure(
        Case(
            "mean_squared_error",
            """
program mean_squared_error(p: f32[M, K], t: f32[M, K]) -> f32[]
  y = reduce((p - t) * (p - t), mean, dims=2)
  return y
""",
            {"p": ("f32", (32768, 1024)), "t": ("f32", (32768, 1024))},
            lambda nn, p, t: (p - t).square().mean(),
            FULL,
        ),
        0.9,
        "copy",
        "f32",
    ),
    _moving("softmax_f32", "f32", _ROWS, "softmax(x)", "f32[65536, 1024]", lambda nn, x: nn.softmax(x, -1)),
    _moving("softmax_f16", "f16", _HALF, "softmax(x)", "f16[131072, 1024]", lambda nn, x: nn.softmax(x, -1)),
    _moving("log_softmax", "f32", _ROWS, "log_softmax(x)", "f32[65536, 1024]", lambda nn, x: nn.log_softmax(x, -1)),
    _moving(
        "layer_norm_f32",
        "f32",
        _ROWS,
        "layer_norm(x)",
        "f32[65536, 1024]",
        lambda nn, x: nn.layer_norm(x, x.shape[-1:]),
    ),
    _moving(
        "rms_norm_f16",
        "f16",
        _HALF,
        "rms_norm(x)",
        "f16[131072, 1024]",
        lambda nn, x: nn.rms_norm(x, x.shape[-1:], eps=1e-5),
    ),
    _moving(
        "sum_middle", "f32", (16, 1024, 4096), "reduce(x, sum, dim=1)", "f32[16, 4096]", lambda nn, x: x.sum(1)
    ),
    _moving(
        "softmax_middle",
        "f32",
        (64, 256, 4096),
        "softmax(x, dim=1)",
        "f32[64, 256, 4096]",
        lambda nn, x: nn.softmax(x, 1),
    ),
    _moving(
        "rms_norm_channels",
        "f32",
        (64, 64, 128, 128),
        "rms_norm(x, dim=1)",
        "f32[64, 64, 128, 128]",
        lambda nn, x: x * (x.square().mean(1, keepdim=True) + 1e-5).rsqrt(),
    ),
    _moving("copy_turned_f32", "f32", (8192, 8192), "map(x.T)", "f32[8192, 8192]", lambda nn, x: x.T),
    _moving("copy_turned_f16", "f16", (8192, 16384), "map(x.T)", "f16[16384, 8192]", lambda nn, x: x.T),
    _moving("relayout_f32", "f32", _IMAGES, "relayout(x, channels_last)", _IMAGES_TEXT, lambda nn, x: x),
    _moving("pad_f32", "f32", (65536, 1023), "pad(x, (0, 1))", "f32[65536, 1024]", lambda nn, x: nn.pad(x, (0, 1))),
    _moving("max_pool_f32", "f32", _IMAGES, "max_pool2d(x, 2)", _HALVED, lambda nn, x: nn.max_pool2d(x, 2)),
    _moving(
        "avg_pool_f32",
        "f32",
        _IMAGES,
        "avg_pool2d(x, 3, 2, 1)",
        _HALVED,
        lambda nn, x: nn.avg_pool2d(x, 3, 2, 1),
    ),
)


def _conv(name: str, x: tuple[int, ...], filters: int) -> Figure:
    """A 3×3 convolution in f16 with everything channels last; turning its tensors is not part of the time."""
    n, channels, height, width = x
    w, y = (filters, channels, 3, 3), [n, filters, height - 2, width - 2]
    text = f"""
program {name}(x: f16{list(x)}, w: f16{list(w)}) -> f16{y}
  xl = relayout(x, channels_last) @once
  wl = relayout(w, channels_last) @once
  y = conv2d(xl, wl)
  return y
"""
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {"x": ("f16", x), "w": ("f16", w)}
    case = Case(name, text, tensors, lambda nn, x, w: nn.conv2d(x, w), HALF, collective=True, parameters=("x", "w"))
    return Figure(case, 0.9, "torch", "f16", channels_last=True)


# The shapes of KernelBench's level 2 numbers 1 and 4, of level 1 number 55, and of number 63 with fewer images.
CONVOLUTIONS = (
    _conv("conv2d_64_to_128_of_128", (128, 64, 128, 128), 128),
    _conv("conv2d_64_to_128_of_256", (64, 64, 256, 256), 128),
    _conv("conv2d_64_to_128_of_512x1024", (8, 64, 512, 1024), 128),
    _conv("conv2d_16_to_128_of_1024", (4, 16, 1024, 1024), 128),
)

FIGURES = {figure.case.name: figure for figure in (*PRODUCTS, *EPILOGUES, *BANDWIDTH, *CONVOLUTIONS)}
