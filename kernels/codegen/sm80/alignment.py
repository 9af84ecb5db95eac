"""How many elements the epilogue may load or store at once: the most that extents, strides and offset allow.

What the operands allow is the checker's to know too: ``kernels.dsl.sm80_loads``.
"""

from __future__ import annotations

from kernels.dsl.ir import Value
from kernels.dsl.sm80_loads import widest

_WIDEST = 16


def result_lanes(result: Value) -> int:
    """Elements of one store of a dense, row-major result."""
    return widest(result.dtype.bytes, (result.shape[-1], result.offset))


def loads_in_vectors(value: Value, lanes: int) -> bool:
    """Whether the epilogue's vectors of ``lanes`` elements (16 bytes at most) fall on whole vectors of ``value``.

    Its last extent lies side by side; what lies in other ways is loaded element by element.
    """
    unit = min(lanes, _WIDEST // value.dtype.bytes)
    return not any(fact % unit for fact in (value.offset, *value.strides[:-1]))
