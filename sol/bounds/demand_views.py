"""How views and pieces hand need on: selects, slices, permutes, reshapes, concatenations and paddings."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sol.bounds.graph import Call, Value, references
from sol.bounds.ops.views import RESHAPES
from sol.bounds.regions import Axis, Mask, Region, full, simplified, some

Need = tuple[Value, Region]
ViewRule = Callable[[Call, dict[int, Region], bool], "list[Need] | None"]


def embed(axis: Axis, extent: int, places: slice) -> Mask:
    """A mask of an axis, from the mask of a slice of it."""
    mask = np.zeros(extent, dtype=np.bool_)
    mask[places] = True if axis is None else axis
    return mask


def _replaced(region: Region, place: int, axis: Axis) -> Region:
    return Region((*region.axes[:place], axis, *region.axes[place + 1 :]), region.share)


def select(call: Call, wanted: dict[int, Region], _: bool) -> list[Need]:
    """One place of an axis."""
    region, shape = wanted[0], call.first.shape
    place = int(call.number(1, "dim", 0)) % len(shape)
    index = int(call.number(2, "index", 0)) % shape[place]
    mask = simplified(embed(None, shape[place], slice(index, index + 1)))
    return [(call.values[0], Region((*region.axes[:place], mask, *region.axes[place:]), region.share))]


def slice_(call: Call, wanted: dict[int, Region], _: bool) -> list[Need]:
    """From start to end by step along an axis."""
    region = wanted[0]
    place, places = bounds_of_slice(call, call.first.shape, 1)
    mask = simplified(embed(region.axes[place], call.first.shape[place], places))
    return [(call.values[0], _replaced(region, place, mask))]


def bounds_of_slice(call: Call, shape: tuple[int, ...], first: int) -> tuple[int, slice]:
    """The axis and the places of ``aten.slice`` and ``aten.slice_scatter`` (whose arguments start at ``first``)."""
    place = int(call.number(first, "dim", 0)) % len(shape)
    start, end = call.argument(first + 1, "start"), call.argument(first + 2, "end")
    step = int(call.number(first + 3, "step", 1))
    whole = slice(start if isinstance(start, int) else None, end if isinstance(end, int) else None, step)
    return place, slice(*whole.indices(shape[place]))


def narrow(call: Call, wanted: dict[int, Region], _: bool) -> list[Need]:
    """So many places from a start on."""
    region, shape = wanted[0], call.first.shape
    place = int(call.number(1, "dim", 0)) % len(shape)
    start = int(call.number(2, "start", 0)) % max(shape[place], 1)
    mask = simplified(embed(region.axes[place], shape[place], slice(start, start + call.out.shape[place])))
    return [(call.values[0], _replaced(region, place, mask))]


def permute(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """Axes change places."""
    region, rank = wanted[0], len(call.first.shape)
    order = permutation(call, rank)
    if order is None:
        return None
    axes: list[Axis] = [None] * rank
    for made, given in enumerate(order):
        axes[given] = region.axes[made]
    return [(call.values[0], region.along(tuple(axes)))]


def permutation(call: Call, rank: int) -> tuple[int, ...] | None:
    """Which axis of the operand each axis of the result is; None for a form that is not known."""
    order = list(range(rank))
    if call.op == "permute":
        return tuple(axis % rank for axis in call.integers(1, "dims", tuple(order)))
    if call.op in ("transpose", "swapaxes"):
        a, b = int(call.number(1, "dim0", 0)) % rank, int(call.number(2, "dim1", 0)) % rank
        order[a], order[b] = order[b], order[a]
        return tuple(order)
    if call.op in ("t", "numpy_T", "mT"):
        return tuple(reversed(order)) if rank <= 2 or call.op == "numpy_T" else None
    return None


def reshape(call: Call, wanted: dict[int, Region], _: bool) -> list[Need]:
    """Leading axes that stay keep their masks; of the rest as many elements as are needed, wherever they lie."""
    region, given, made = wanted[0], call.first.shape, call.out.shape
    if given == made:
        return [(call.values[0], region)]
    if region.is_full or not call.out.elements:
        return [(call.values[0], full(len(given)))]
    stays = 0
    while stays < min(len(given), len(made)) and given[stays] == made[stays]:
        stays += 1
    if all(axis is None for axis in region.axes[stays:]) and math.prod(given[stays:]) == math.prod(made[stays:]):
        return [(call.values[0], region.along((*region.axes[:stays], *(None,) * (len(given) - stays))))]
    # squeeze and unsqueeze arrive here too: without axes of extent one both shapes are the same
    places = [axis for axis, extent in zip(region.axes, made, strict=True) if extent != 1]
    if [e for e in given if e != 1] == [e for e in made if e != 1]:
        left = iter(places)
        return [(call.values[0], region.along(tuple(None if e == 1 else next(left) for e in given)))]
    return [(call.values[0], some(len(given), region.elements(made) / call.out.elements))]


def expand(call: Call, wanted: dict[int, Region], _: bool) -> list[Need]:
    """Axes of extent one in full, new ones away."""
    region, given, made = wanted[0], call.first.shape, call.out.shape
    lead = len(made) - len(given)
    axes = tuple(region.axes[lead + p] if extent == made[lead + p] else None for p, extent in enumerate(given))
    return [(call.values[0], region.along(axes) if given == made else Region(axes))]


def split(call: Call, wanted: dict[int, Region], _: bool) -> list[Need]:
    """Each needed piece at its place."""
    shape = call.first.shape
    place = int(call.number(2, "dim", 0)) % len(shape)
    needs = []
    start = 0
    for index, piece in enumerate(call.node.results):
        end = start + piece.shape[place]
        if index in wanted:
            mask = embed(wanted[index].axes[place], shape[place], slice(start, end))
            needs.append((call.values[0], _replaced(wanted[index], place, simplified(mask))))
        start = end
    return needs


def unbind(call: Call, wanted: dict[int, Region], _: bool) -> list[Need]:
    """Each needed piece at its place."""
    shape = call.first.shape
    place = int(call.number(1, "dim", 0)) % len(shape)
    return [
        (
            call.values[0],
            Region(
                (
                    *region.axes[:place],
                    simplified(embed(None, shape[place], slice(i, i + 1))),
                    *region.axes[place:],
                ),
                region.share,
            ),
        )
        for i, region in wanted.items()
    ]


def cat(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """Each operand the part that lies in it."""
    region = wanted[0]
    parts = list(references(call.argument(0, "tensors")))
    place = int(call.number(1, "dim", 0)) % max(len(call.out.shape), 1)
    needs: list[Need] = []
    start = 0
    for value in parts:
        shape = call.view.spec(value).shape
        if len(shape) != len(call.out.shape):
            continue  # torch lets an empty vector through
        end = start + shape[place]
        axis = region.axes[place]
        piece = None if axis is None else simplified(axis[start:end])
        needs.append((value, _replaced(region, place, piece)))
        start = end
    return needs


def pad(call: Call, wanted: dict[int, Region], _: bool) -> list[Need]:
    """What lies inside; the border is a constant."""
    region, given = wanted[0], call.first.shape
    padding = call.integers(1, "pad", ())
    axes = list(region.axes)
    for pair in range(len(padding) // 2):
        place = len(given) - 1 - pair
        before = padding[2 * pair]
        mask = np.zeros(given[place], dtype=np.bool_)
        made = np.arange(given[place]) + before
        inside = (made >= 0) & (made < call.out.shape[place])
        axis = region.axes[place]
        mask[inside] = True if axis is None else axis[made[inside]]
        axes[place] = simplified(mask)
    return [(call.values[0], Region(tuple(axes), region.share))]


def scatter(call: Call, wanted: dict[int, Region], _: bool) -> list[Need] | None:
    """``slice_scatter`` and ``select_scatter``: the base but for what is written over, and what is written."""
    region, shape = wanted[0], call.first.shape
    if call.op == "slice_scatter":
        place, places = bounds_of_slice(call, shape, 2)
    else:
        place = int(call.number(2, "dim", 0)) % len(shape)
        index = int(call.number(3, "index", 0)) % shape[place]
        places = slice(index, index + 1, 1)
    axis = region.axes[place]
    rest = np.ones(shape[place], dtype=np.bool_) if axis is None else axis.copy()
    piece = rest[places].copy()
    rest[places] = False
    written = _replaced(region, place, simplified(piece))
    if call.op == "select_scatter":
        written = Region((*region.axes[:place], *region.axes[place + 1 :]), region.share)
    needs: list[Need] = [(call.values[0], _replaced(region, place, rest))]
    return [*needs, (call.values[1], written)] if piece.any() else needs


def flip(call: Call, wanted: dict[int, Region], _: bool) -> list[Need]:
    """Masks turned round."""
    region, rank = wanted[0], len(call.first.shape)
    turned = {axis % rank for axis in call.integers(1, "dims", ())}
    axes = tuple(
        axis[::-1] if axis is not None and place in turned else axis for place, axis in enumerate(region.axes)
    )
    return [(call.values[0], Region(axes, region.share))]


RULES: dict[str, ViewRule] = {
    **dict.fromkeys(RESHAPES | {"squeeze", "unsqueeze"}, reshape),
    **dict.fromkeys(("permute", "transpose", "swapaxes", "t", "numpy_T", "mT"), permute),
    **dict.fromkeys(("expand", "expand_as", "broadcast_to"), expand),
    **dict.fromkeys(("split", "split_with_sizes", "chunk", "tensor_split"), split),
    **dict.fromkeys(("slice_scatter", "select_scatter"), scatter),
    "select": select,
    "slice": slice_,
    "narrow": narrow,
    "unbind": unbind,
    "cat": cat,
    "constant_pad_nd": pad,
    "flip": flip,
}
"""Rules by packet name."""
