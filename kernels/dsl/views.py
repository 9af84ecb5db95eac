"""Free views of a tensor: new shape, strides and offset over the same memory, as torch gives them.

No view here copies; what would need a copy is refused with a ``View`` error's words (``ViewRefused``).
"""

from __future__ import annotations

from collections.abc import Callable

from kernels.dsl.ir import Value
from kernels.dtypes import DType


class ViewRefused(Exception):
    """Why the view does not exist, and what would be right; the checker adds the place."""

    def __init__(self, what: str, mend: str) -> None:
        self.what = what
        self.mend = mend
        super().__init__(what)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides, in elements, of a contiguous tensor."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(1, shape[axis + 1])
    return tuple(strides)


def fresh(name: str, dtype: DType, shape: tuple[int, ...]) -> Value:
    """A contiguous tensor that owns its memory."""
    return Value(name, dtype, shape, row_major(shape), 0, name)


def channels_last(name: str, dtype: DType, shape: tuple[int, ...]) -> Value:
    """A tensor [N, C, *spatial] that owns its memory, in which the channels lie innermost: dense [N, *spatial, C]."""
    batch, channels, *spatial = shape
    first, *inner, last = row_major((batch, *spatial, channels))
    return Value(name, dtype, shape, (first, last, *inner), 0, name)


def column_major(name: str, dtype: DType, shape: tuple[int, ...]) -> Value:
    """A tensor that owns its memory, whose last two dimensions lie exchanged: dense [..., columns, rows]."""
    *outer, rows, columns = shape
    *front, second, first = row_major((*outer, columns, rows))
    return Value(name, dtype, shape, (*front, first, second), 0, name)


def _derived(base: Value, text: str, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Value:
    return Value(f"{base.name}.{text}", base.dtype, shape, strides, offset, base.storage)


def _axis(base: Value, dim: int, count: int | None = None) -> int:
    rank = len(base.shape) if count is None else count
    if not -rank <= dim < rank:
        mend = f"its dimensions are 0 to {rank - 1} (or -{rank} to -1)" if rank else "it has none"
        raise ViewRefused(f"{base.name} has no dimension {dim}", mend)
    return dim % rank


def transpose(base: Value, *_: int) -> Value:
    """``.T``: the last two dimensions swapped."""
    if len(base.shape) < 2:
        raise ViewRefused(f".T of {base.name}, which has {len(base.shape)} dimension(s)", "take .T of two or more")
    shape, strides = list(base.shape), list(base.strides)
    shape[-1], shape[-2] = shape[-2], shape[-1]
    strides[-1], strides[-2] = strides[-2], strides[-1]
    return _derived(base, "T", tuple(shape), tuple(strides), base.offset)


def reshape(base: Value, *extents: int) -> Value:
    """``.reshape(…)`` of a contiguous tensor; one extent may be -1."""
    if not base.contiguous:
        mend = f"copy it first (c = map({base.name})) and reshape c"
        raise ViewRefused(f"reshape of {base.name}, whose elements do not lie row-major", mend)
    shape = list(extents)
    open_axes = [axis for axis, extent in enumerate(shape) if extent == -1]
    known = 1
    for extent in shape:
        known *= extent if extent != -1 else 1
    if len(open_axes) > 1 or any(extent < -1 for extent in shape):
        raise ViewRefused(f"reshape{tuple(extents)} leaves more than one extent open", "write at most one -1")
    if open_axes and known and base.elements % known == 0:
        shape[open_axes[0]] = base.elements // known
        known = base.elements
    if -1 in shape or known != base.elements:
        wanted = ", ".join(map(str, extents))
        raise ViewRefused(
            f"reshape({wanted}) of {base.name}, which has {base.elements} elements",
            f"the extents' product must be {base.elements}",
        )
    text = f"reshape({', '.join(map(str, shape))})"
    return _derived(base, text, tuple(shape), row_major(tuple(shape)), base.offset)


def permute(base: Value, *order: int) -> Value:
    """``.permute(…)``: the dimensions in another order."""
    axes = tuple(_axis(base, axis) for axis in order)
    if sorted(axes) != list(range(len(base.shape))):
        raise ViewRefused(
            f"permute({', '.join(map(str, order))}) of {len(base.shape)} dimensions",
            f"name each of 0 to {len(base.shape) - 1} once",
        )
    shape = tuple(base.shape[axis] for axis in axes)
    strides = tuple(base.strides[axis] for axis in axes)
    return _derived(base, f"permute({', '.join(map(str, axes))})", shape, strides, base.offset)


def slice_(base: Value, dim: int, start: int, stop: int) -> Value:
    """``.slice(dim, start, stop)``: elements start to stop - 1; negative ends count from the back."""
    axis = _axis(base, dim)
    extent = base.shape[axis]
    first = start + extent if start < 0 else start
    last = stop + extent if stop < 0 else stop
    if not 0 <= first < last <= extent:
        raise ViewRefused(
            f"slice({dim}, {start}, {stop}) of an extent of {extent}", f"0 <= start < stop <= {extent} is legal"
        )
    shape = (*base.shape[:axis], last - first, *base.shape[axis + 1 :])
    offset = base.offset + first * base.strides[axis]
    return _derived(base, f"slice({axis}, {first}, {last})", shape, base.strides, offset)


def select(base: Value, dim: int, index: int) -> Value:
    """``.select(dim, index)``: one element of a dimension, which goes away."""
    axis = _axis(base, dim)
    extent = base.shape[axis]
    if not -extent <= index < extent:
        raise ViewRefused(f"select({dim}, {index}) of an extent of {extent}", f"0 to {extent - 1} are legal")
    at = index % extent
    offset = base.offset + at * base.strides[axis]
    shape = base.shape[:axis] + base.shape[axis + 1 :]
    strides = base.strides[:axis] + base.strides[axis + 1 :]
    return _derived(base, f"select({axis}, {at})", shape, strides, offset)


def unsqueeze(base: Value, dim: int) -> Value:
    """``.unsqueeze(d)``: a new extent of one."""
    axis = _axis(base, dim, len(base.shape) + 1)
    stride = base.strides[axis] * base.shape[axis] if axis < len(base.shape) else 1
    shape = (*base.shape[:axis], 1, *base.shape[axis:])
    strides = (*base.strides[:axis], stride, *base.strides[axis:])
    return _derived(base, f"unsqueeze({axis})", shape, strides, base.offset)


def squeeze(base: Value, dim: int) -> Value:
    """``.squeeze(d)``: an extent of one taken away."""
    axis = _axis(base, dim)
    if base.shape[axis] != 1:
        raise ViewRefused(
            f"squeeze({dim}) of {base.name}, whose extent there is {base.shape[axis]}",
            "squeeze takes an extent of 1",
        )
    shape = base.shape[:axis] + base.shape[axis + 1 :]
    strides = base.strides[:axis] + base.strides[axis + 1 :]
    return _derived(base, f"squeeze({axis})", shape, strides, base.offset)


def expand(base: Value, *extents: int) -> Value:
    """``.expand(…)``: extents of one (or new ones in front) repeated with stride 0; -1 keeps an extent."""
    lead = len(extents) - len(base.shape)
    if lead < 0:
        raise ViewRefused(
            f"expand to {len(extents)} dimensions of {base.name}, which has {len(base.shape)}",
            "give one extent a dimension",
        )
    shape, strides = [], []
    for axis, wanted in enumerate(extents):
        have = base.shape[axis - lead] if axis >= lead else 1
        extent = have if wanted == -1 and axis >= lead else wanted
        if extent < 0 or (have not in (1, extent)):
            raise ViewRefused(
                f"expand({', '.join(map(str, extents))}) of {base.name}, whose shape is {list(base.shape)}",
                "only extents of 1 can be repeated",
            )
        kept = axis >= lead and (have != 1 or extent == 1)
        shape.append(extent)
        strides.append(base.strides[axis - lead] if kept else 0)
    return _derived(base, f"expand({', '.join(map(str, shape))})", tuple(shape), tuple(strides), base.offset)


VIEWS: dict[str, tuple[Callable[..., Value], int | None, str]] = {
    "T": (transpose, 0, ".T swaps the last two dimensions"),
    "reshape": (reshape, None, ".reshape(4, -1) of a row-major tensor; one -1 is worked out"),
    "permute": (permute, None, ".permute(0, 2, 1) reorders the dimensions"),
    "slice": (slice_, 3, ".slice(dim, start, stop) keeps start to stop - 1"),
    "select": (select, 2, ".select(dim, index) takes one and drops the dimension"),
    "unsqueeze": (unsqueeze, 1, ".unsqueeze(d) adds an extent of 1"),
    "squeeze": (squeeze, 1, ".squeeze(d) drops an extent of 1"),
    "expand": (expand, None, ".expand(8, -1) repeats extents of 1; -1 keeps one"),
}
"""By name: the function, how many integers it takes (None: any), and the line of documentation."""

VIEW_NAMES = frozenset(VIEWS)


def broadcast_to(base: Value, shape: tuple[int, ...]) -> Value:
    """The view with ``shape``'s rank and extents, stride 0 where it repeats; ``base`` itself where nothing changes.

    Raises ``ViewRefused`` where torch would not broadcast.
    """
    return base if base.shape == shape else expand(base, *shape)


def broadcast_shapes(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape two operands broadcast to, None where they do not."""
    rank = max(len(left), len(right))
    padded = ((1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right)
    extents = []
    for one, other in zip(*padded, strict=True):
        if one != other and 1 not in (one, other):
            return None
        extents.append(other if one == 1 else one)
    return tuple(extents)
