"""Convolutions of one to three dimensions, transposed, grouped, depthwise and dilated ones among them.

The count is the textbook's: padding counts as data, as FlopCounterMode counts it. What padding, Winograd or FFT can
save is the floor's business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sol.bounds.graph import Call
from sol.bounds.ops.registry import Cost, names, product, rule

CONVOLUTIONS = names(
    "convolution _convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d"
)
"""Packet names of all convolutions."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """One convolution. ``spatial_in``, ``spatial_out``, ``kernel``, ``stride``, ``padding``, ``dilation`` by axis."""

    batch: int
    channels_in: int
    channels_out: int
    groups: int
    transposed: bool
    spatial_in: tuple[int, ...]
    spatial_out: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    has_bias: bool


def describe(call: Call) -> Convolution:
    """The convolution behind a call of any of these operations."""
    given, weight = call.tensor(0, "input"), call.tensor(1, "weight")
    if given is None or weight is None:
        raise ValueError(f"{call.node.name} lacks its input or weight")
    kernel = weight.shape[2:]
    rank = len(kernel)
    batched = len(given.shape) == rank + 2
    places = _places(call.op)
    transposed = "transpose" in call.op
    if "transposed" in places:
        transposed = bool(call.argument(places["transposed"], "transposed", False))
    spatial_out = call.out.shape[-rank:]
    stride = _spread(call, places["stride"], "stride", 1, rank)
    dilation = _spread(call, places["dilation"], "dilation", 1, rank)
    return Convolution(
        batch=given.shape[0] if batched else 1,
        channels_in=given.shape[-rank - 1],
        channels_out=call.out.shape[-rank - 1],
        groups=int(call.number(places["groups"], "groups", 1)),
        transposed=transposed,
        spatial_in=given.shape[-rank:],
        spatial_out=spatial_out,
        kernel=kernel,
        stride=stride,
        padding=_padding(call, places["padding"], kernel, dilation),
        dilation=dilation,
        has_bias=call.tensor(2, "bias") is not None,
    )


def _places(op: str) -> dict[str, int]:
    if op in ("convolution", "_convolution"):
        return {"stride": 3, "padding": 4, "dilation": 5, "transposed": 6, "groups": 8}
    if "transpose" in op:
        return {"stride": 3, "padding": 4, "groups": 6, "dilation": 7}
    return {"stride": 3, "padding": 4, "dilation": 5, "groups": 6}


def _spread(call: Call, place: int, name: str, default: int, rank: int) -> tuple[int, ...]:
    values = call.integers(place, name, (default,))
    return values * rank if len(values) == 1 else values


def _padding(call: Call, place: int, kernel: tuple[int, ...], dilation: tuple[int, ...]) -> tuple[int, ...]:
    if call.argument(place, "padding") == "same":
        return tuple(d * (k - 1) // 2 for k, d in zip(kernel, dilation, strict=True))
    if call.argument(place, "padding") == "valid":
        return (0,) * len(kernel)
    return _spread(call, place, "padding", 0, len(kernel))


@rule(*CONVOLUTIONS)
def count(call: Call) -> tuple[Cost, ...]:
    """``2·N·C_out·spatial_out·(C_in/groups)·kernel``; transposed, the input's pixels stand for the output's."""
    conv = describe(call)
    kernel = math.prod(conv.kernel)
    if conv.transposed:
        flops, formula = product(
            "2·N·C_in·in·(C_out/groups)·kernel",
            2, conv.batch, conv.channels_in, math.prod(conv.spatial_in), conv.channels_out // conv.groups, kernel,
        )  # fmt: skip
    else:
        flops, formula = product(
            "2·N·C_out·out·(C_in/groups)·kernel",
            2, conv.batch, conv.channels_out, math.prod(conv.spatial_out), conv.channels_in // conv.groups, kernel,
        )  # fmt: skip
    costs = [Cost("matrix", flops, formula)]
    if conv.has_bias:
        added, text = product("output elements", *call.out.shape)
        costs.append(Cost("vector", added, f"1 addition · {text}", 0, 0))
    return tuple(costs)
