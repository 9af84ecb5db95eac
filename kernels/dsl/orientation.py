"""Which side of a product's operands lies side by side in memory, and which products are multiplied transposed.

It judges nothing: what the sides ask of a tile or a cluster is for ``layouts`` and ``resources``.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from kernels.dsl.ir import Value

Side: TypeAlias = Literal["columns", "rows", ""]

_LETTERS: dict[str, dict[Side, str]] = {"a": {"columns": "K", "rows": "M"}, "b": {"columns": "N", "rows": "K"}}


def contiguous_side(value: Value) -> Side:
    """The extent of a matrix [..., rows, columns] whose elements lie side by side; "" where none does.

    An extent of 1 fits either way.
    """
    rows, columns = value.shape[-2:]
    down, along = value.strides[-2:]
    if along == 1 or (columns == 1 and down != 1):
        return "columns"
    return "rows" if down == 1 or rows == 1 else ""


def letter(value: Value, role: str) -> str:
    """``K`` for an operand whose K lies side by side, else ``M`` (role "a") or ``N`` (role "b"); "" for none."""
    return _LETTERS[role].get(contiguous_side(value), "")


def letters(operands: tuple[Value, ...]) -> str:
    """The letters of a and b, in this order: ``KK`` for gemm(x, w.T) of row-major x and w."""
    return "".join(letter(value, role) for value, role in zip(operands, "ab", strict=True))


def multiplied_transposed(operands: tuple[Value, ...], math: str) -> bool:
    """Whether sm_90a computes ``y^T = b^T a^T`` for ``y = a b``: tf32 with a K-major a and an N-major b.

    CUTLASS takes an operand that is not K-major in the first place alone. Tile, cluster and raster then belong to the
    transposed problem: their m runs along the program's columns.
    """
    return math == "tf32" and letters(operands) == "KN"
