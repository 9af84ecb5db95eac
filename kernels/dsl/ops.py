"""The operations a stage can be, and which element types each takes on each target.

What is not in ``TYPES`` for a target is refused by the rule ``target``; what an operation does with its operands is in
``shapes`` and ``torch_stages``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.dtypes import FP8, DType
from kernels.targets import Target


@dataclass(frozen=True, slots=True)
class Op:
    """``usage`` as one writes it, ``meaning`` in one sentence, ``chained`` whether ``>>`` links may follow.

    Where ``meaning`` is empty, another row's speaks of this operation too.
    """

    name: str
    usage: str
    meaning: str
    chained: bool


OPS: dict[str, Op] = {
    op.name: op
    for op in (
        Op("cast", "cast(x, f16)", "the tensor x in another element type, row-major", chained=False),
        Op(
            "map",
            "map(x * sigmoid(x) + y)",
            "an elementwise expression; operands broadcast as in torch",
            chained=True,
        ),
        Op(
            "gemm", "gemm(a, b)", "the product of a[M, K] and b[K, N]; gemm(x, w.T) is a linear layer", chained=True
        ),
        Op("bmm", "bmm(a, b)", "the batched product of a[B, M, K] and b[B, K, N]", chained=True),
        Op(
            "grouped_gemm",
            "grouped_gemm([a, c], [b, d])",
            "several products of their own sizes in one launch: y.0, y.1, ...; its chain takes numbers alone",
            chained=True,
        ),
        Op(
            "conv2d",
            "conv2d(x, w, stride=1, padding=0, dilation=1, groups=1)",
            "convolution of x[N, C, H, W] with w[K, C/groups, R, S]; each number may be a pair (2, 1), padding also "
            "same; conv1d and conv3d alike",
            chained=True,
        ),
        Op(
            "conv_transpose2d",
            "conv_transpose2d(x, w, stride=1, padding=0, output_padding=0, groups=1, dilation=1)",
            "the transposed one, with w[C, K/groups, R, S]; conv_transpose1d and conv_transpose3d alike",
            chained=True,
        ),
        *(
            Op(name, f"{name}{arguments}", "", chained=True)
            for name, arguments in (
                ("conv1d", "(x, w, stride=1, padding=0, dilation=1, groups=1)"),
                ("conv3d", "(x, w, stride=1, padding=0, dilation=1, groups=1)"),
                ("conv_transpose1d", "(x, w, stride=1, padding=0, output_padding=0, groups=1, dilation=1)"),
                ("conv_transpose3d", "(x, w, stride=1, padding=0, output_padding=0, groups=1, dilation=1)"),
            )
        ),
        Op(
            "reduce",
            "reduce(x, sum, dims=1, keepdim=false)",
            "sum, mean, max, min, prod, logsumexp, sumsq (sum of squares), norm1, norm2, var, std (by n - 1), argmax "
            "or argmin (i64, no chain) over the last dims dimensions, or over any: dim=1, dim=(0, 2)",
            chained=True,
        ),
        Op("softmax", "softmax(x, dim=-1)", "softmax over any dimension", chained=True),
        Op("log_softmax", "log_softmax(x, dim=-1)", "its logarithm", chained=True),
        Op(
            "layer_norm",
            "layer_norm(x, weight, bias, dims=1, eps=1e-5)",
            "normalised over the last dims dimensions; weight and bias have their shape and may be left out",
            chained=True,
        ),
        Op(
            "rms_norm",
            "rms_norm(x, weight, dims=1, eps=1e-5)",
            "x / sqrt(mean(x²) + eps) over the last dims dimensions, or dim=1; the weight may be left out",
            chained=True,
        ),
        Op(
            "group_norm",
            "group_norm(x, 8, weight, bias, eps=1e-5)",
            "x[N, C, ...] in 8 groups of channels; weight[C] and bias[C] may be left out, here and below",
            chained=True,
        ),
        Op("instance_norm", "instance_norm(x, weight, bias, eps=1e-5)", "each channel on its own", chained=True),
        Op(
            "batch_norm",
            "batch_norm(x, weight, bias, eps=1e-5)",
            "by the statistics of this batch, over all dimensions but 1; with running ones it is a map",
            chained=True,
        ),
        Op(
            "relayout",
            "relayout(x, channels_last)",
            "a dense copy in another memory order, the shape kept: channels_last, row_major or column_major (the last "
            "two dimensions exchanged in memory)",
            chained=False,
        ),
        Op(
            "pad",
            "pad(x, (0, 5), value=0)",
            "a constant border: (before, after) of the last dimension, then of the one before it",
            chained=False,
        ),
        Op(
            "max_pool2d",
            "max_pool2d(x, 3, stride=2, padding=1, dilation=1, ceil_mode=false)",
            "of a row-major or channels-last x; each number may be a pair, stride is the kernel where left out; "
            "max_pool1d and max_pool3d alike",
            chained=True,
        ),
        Op(
            "avg_pool2d",
            "avg_pool2d(x, 2, stride=2, padding=0, ceil_mode=false, count_include_pad=true)",
            "avg_pool1d and avg_pool3d alike",
            chained=True,
        ),
        *(
            Op(f"{kind}_pool{dims}d", f"{kind}_pool{dims}d{arguments}", "", chained=True)
            for kind, arguments in (
                ("max", "(x, 2, stride=2, padding=0, dilation=1, ceil_mode=false)"),
                ("avg", "(x, 2, stride=2, padding=0, ceil_mode=false, count_include_pad=true)"),
            )
            for dims in (1, 3)
        ),
        Op("torch", "torch.cumsum(x, -1) -> f32[8, 16]", "the way out: any pure torch function", chained=False),
        Op("view", "x.reshape(4, -1)", "a free view with a name of its own", chained=False),
    )
}
"""By name. ``torch.NAME(…)`` has the op "torch"."""

ROW_STAGES = {
    "reduce": "reduce",
    "softmax": "softmax",
    "log_softmax": "softmax",
    "layer_norm": "norm",
    "rms_norm": "norm",
    "group_norm": "norm",
    "instance_norm": "norm",
    "batch_norm": "norm",
}
"""The stages that work on rows, by name, and the ``op`` that each has in the checked program."""

CONVOLUTIONS = {f"{kind}{dims}d": (kind, dims) for kind in ("conv", "conv_transpose") for dims in (1, 2, 3)}
"""The convolution stages by name: kind and number of spatial dimensions. In the checked program all are "conv"."""

POOLS = {f"{kind}_pool{dims}d": (kind, dims) for kind in ("max", "avg") for dims in (1, 2, 3)}
"""The pooling stages by name: kind and number of spatial dimensions. In the checked program all are "pool"."""

MOVING = ("relayout", "pad", "pool")
"""The operations that go over a tensor's elements in its own memory order."""


def kernel_op(name: str) -> str:
    """The ``op`` that a stage of this name has in the checked program; it names the knobs and the element types."""
    if name in POOLS:
        return "pool"
    return ROW_STAGES.get(name, "conv" if name in CONVOLUTIONS else name)


EPILOGUE_TYPES = (DType.F32, DType.F16, DType.BF16)
"""What an epilogue of the tensor cores reads, chains and all."""
_FLOATS = (DType.F32, DType.F16, DType.BF16)
_HOST_FLOATS = (DType.F64, *_FLOATS)
_ELEMENTWISE = (*_HOST_FLOATS, DType.I64, DType.I32, DType.I16, DType.I8, DType.U8, DType.BOOL)

TYPES: dict[Target, dict[str, tuple[DType, ...]]] = {
    Target.HOST: {
        **dict.fromkeys(("gemm", "bmm", "conv", "grouped_gemm", "pool", *ROW_STAGES.values()), _HOST_FLOATS),
        **dict.fromkeys(("map", "cast", "relayout", "pad"), _ELEMENTWISE),
    },
    Target.SM80: {
        **dict.fromkeys(("gemm", "bmm", "conv", "pool", *ROW_STAGES.values()), _FLOATS),
        **dict.fromkeys(("map", "cast", "relayout", "pad"), _ELEMENTWISE),
    },
    Target.SM90A: {
        **dict.fromkeys(("gemm", "bmm"), (*_FLOATS, *FP8)),
        **dict.fromkeys(("grouped_gemm", "conv", "pool", *ROW_STAGES.values()), _FLOATS),
        **dict.fromkeys(("map", "cast"), (*_ELEMENTWISE, *FP8)),
        **dict.fromkeys(("relayout", "pad"), _ELEMENTWISE),
    },
}
"""Element types of the operands by target and operation. A target that is absent takes torch stages alone."""
