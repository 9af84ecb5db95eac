"""FLOPs and bytes by operation, one module a family; importing this package fills the registry."""

from __future__ import annotations

from sol.bounds.ops import (
    attention,
    constructors,
    convolution,
    embedding,
    losses,
    matmul,
    movement,
    normalisation,
    pointwise,
    pooling,
    recurrent,
    reductions,
    softmax,
    sorting,
    views,
)

FAMILIES = (
    attention, constructors, convolution, embedding, losses, matmul, movement, normalisation, pointwise, pooling,
    recurrent, reductions, softmax, sorting, views,
)  # fmt: skip
"""Every family, in alphabetical order."""
