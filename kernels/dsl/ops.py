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
        Op("torch", "torch.softmax(x, -1) -> f32[8, 16]", "the way out: any pure torch function", chained=False),
        Op("view", "x.reshape(4, -1)", "a free view with a name of its own", chained=False),
    )
}
"""By name. ``torch.NAME(…)`` has the op "torch"."""

_FLOATS = (DType.F32, DType.F16, DType.BF16)
_HOST_FLOATS = (DType.F64, *_FLOATS)
_ELEMENTWISE = (*_HOST_FLOATS, DType.I64, DType.I32, DType.I16, DType.I8, DType.U8, DType.BOOL)

TYPES: dict[Target, dict[str, tuple[DType, ...]]] = {
    Target.HOST: {"gemm": _HOST_FLOATS, "bmm": _HOST_FLOATS, "map": _ELEMENTWISE, "cast": _ELEMENTWISE},
    Target.SM90A: {"gemm": _FLOATS, "bmm": _FLOATS, "map": _ELEMENTWISE, "cast": _ELEMENTWISE},
}
"""Element types of the operands by target and operation. A target that is absent takes torch stages alone."""
