"""The extents that an elementwise kernel goes over, merged where all operands allow, and how wide its accesses can be.

It knows nothing of code: strides and extents are numbers here, and what is written into a kernel is others' choice.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.dsl.ir import Value

MOST_LANES = 8


@dataclass(frozen=True, slots=True)
class Space:
    """The merged extents, outermost first, and each operand's strides over them (0: broadcast)."""

    extents: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]


def broadcast_strides(value: Value, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a value over the result's shape; extents of one and missing ones get 0."""
    missing = len(shape) - len(value.shape)
    own = [0 if extent == 1 else stride for extent, stride in zip(value.shape, value.strides, strict=True)]
    return (0,) * missing + tuple(own)


def merge(shape: tuple[int, ...], strides: tuple[tuple[int, ...], ...]) -> Space:
    """Joins neighbouring extents that every operand steps through evenly; extents of one vanish."""
    kept = [axis for axis, extent in enumerate(shape) if extent != 1]
    extents = [shape[axis] for axis in kept]
    steps = [[row[axis] for axis in kept] for row in strides]
    axis = len(extents) - 1
    while axis > 0:
        inner = extents[axis]
        if all(row[axis - 1] == row[axis] * inner for row in steps):
            extents[axis - 1 : axis + 1] = [extents[axis - 1] * inner]
            for row in steps:
                del row[axis - 1]
        axis -= 1
    if not extents:
        extents, steps = [1], [[0] for _ in strides]
    return Space(tuple(extents), tuple(tuple(row) for row in steps))


def lanes(space: Space, operands: tuple[Value, ...], result: Value, asked: int) -> int:
    """Elements a thread takes at once: ``asked``, or for 0 the widest that all operands' alignments allow."""
    sizes = [result.dtype.bytes, *(value.dtype.bytes for value in operands)]
    most = asked or min(MOST_LANES, 16 // min(sizes))
    width = 1
    while width * 2 <= most and _fits(space, operands, width * 2):
        width *= 2
    return width


def _fits(space: Space, operands: tuple[Value, ...], width: int) -> bool:
    if space.extents[-1] % width:
        return False
    for value, row in zip(operands, space.strides, strict=True):
        if row[-1] > 1:
            return False
        if row[-1] == 1 and (value.offset % width or any(stride % width for stride in row[:-1])):
            return False
    return True


def lanes_along(
    space: Space, axis: int, operands: tuple[Value, ...], rows: list[tuple[int, ...]], most: int
) -> int:
    """Elements a thread reads at once of ``operands``, of strides ``rows``, that lie side by side along ``axis``."""
    width = 1
    while width * 2 <= most and space.extents[axis] % (width * 2) == 0:
        wider = width * 2
        for value, row in zip(operands, rows, strict=True):
            pitches = [stride for place, stride in enumerate(row) if place != axis]
            if value.offset % wider or any(pitch % wider for pitch in pitches):
                return width
        width = wider
    return width
