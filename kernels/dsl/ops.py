"""The operations a stage can be, and which element types each takes on each target.

What is not in ``TYPES`` for a target is refused by the rule ``target``; what an operation does with its operands is in
``shapes`` and ``torch_stages``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.dtypes import DType
from kernels.targets import Target


@dataclass(frozen=True, slots=True)
class Op:
    """``usage`` as one writes it, ``meaning`` in one sentence, ``chained`` whether ``>>`` links may follow."""

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
            "reduce",
            "reduce(x, sum, dims=1, keepdim=false)",
            "sum, mean, max, min, prod, logsumexp or sumsq (sum of squares) over the last dims dimensions",
            chained=True,
        ),
        Op("softmax", "softmax(x)", "softmax over the last dimension", chained=True),
        Op("log_softmax", "log_softmax(x)", "its logarithm", chained=True),
        Op(
            "layer_norm",
            "layer_norm(x, weight, bias, eps=1e-5)",
            "normalised over the last dimension; weight and bias are vectors and may be left out",
            chained=True,
        ),
        Op(
            "rms_norm",
            "rms_norm(x, weight, eps=1e-5)",
            "x / sqrt(mean(x²) + eps) over the last dimension; the weight may be left out",
            chained=True,
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
}
"""The stages that work on rows, by name, and the ``op`` that each has in the checked program."""

_FLOATS = (DType.F32, DType.F16, DType.BF16)
_HOST_FLOATS = (DType.F64, *_FLOATS)
_ELEMENTWISE = (*_HOST_FLOATS, DType.I64, DType.I32, DType.I16, DType.I8, DType.U8, DType.BOOL)

TYPES: dict[Target, dict[str, tuple[DType, ...]]] = {
    Target.HOST: {
        **dict.fromkeys(("gemm", "bmm", *ROW_STAGES.values()), _HOST_FLOATS),
        **dict.fromkeys(("map", "cast"), _ELEMENTWISE),
    },
    Target.SM90A: {
        **dict.fromkeys(("gemm", "bmm", *ROW_STAGES.values()), _FLOATS),
        **dict.fromkeys(("map", "cast"), _ELEMENTWISE),
    },
}
"""Element types of the operands by target and operation. A target that is absent takes torch stages alone."""
