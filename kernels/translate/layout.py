"""ATen views as views of the language, with the copy that a reshape of a permuted tensor needs.

Where torch would copy too (or could view by strides that ``.reshape`` here refuses), the caller copies first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernels.dsl import views
from kernels.dsl.ir import Value
from kernels.problems.inspection import Node
from kernels.translate.work import base, words

Copy = Callable[[Value], Value]
"""Emits a stage that copies a value row-major; gives the copy."""

VIEWS = words(
    "view reshape _unsafe_view flatten permute transpose t unsqueeze squeeze expand slice select split "
    "split_with_sizes chunk unbind narrow swapaxes"
)

_WHOLE = 2**62


def is_view(node: Node) -> bool:
    """Whether a node is one of the free views; a slice with a step is not."""
    name = base(node.op)
    if name == "slice":
        return len(node.args) < 5 or node.args[4] == 1
    return name in VIEWS


class Layouts:
    """Makes views and remembers what each reshape and transpose was made from, so that they do not pile up."""

    def __init__(self, copy: Copy) -> None:
        self.copy = copy
        self.origins: dict[str, Value] = {}
        self.turned: dict[str, Value] = {}

    def reshape(self, value: Value, shape: tuple[int, ...]) -> Value:
        """``value`` in another shape, copied first where its elements do not lie row-major."""
        if value.shape == shape:
            return value
        origin = self.origins.get(value.name, value)
        if origin.shape == shape:
            return origin
        plain = self.turned.get(value.name)
        if plain is not None and plain.contiguous and len(shape) >= 2 and shape[-2:] == value.shape[-2:]:
            # Only the dimensions in front change: they do so behind the transpose too, where nothing is copied.
            return self._transposed(self.reshape(plain, (*shape[:-2], shape[-1], shape[-2])))
        if not origin.contiguous:
            origin = self.copy(origin)
        made = views.reshape(origin, *shape)
        self.origins[made.name] = origin
        return made

    def permute(self, value: Value, order: list[int]) -> Value:
        """``value`` with its dimensions in another order; ``.T`` where only the last two change places."""
        rank = len(value.shape)
        axes = [axis % rank for axis in order]
        if axes == list(range(rank)):
            return value
        if rank >= 2 and axes == [*range(rank - 2), rank - 1, rank - 2]:
            return self._transposed(value)
        return views.permute(value, *axes)

    def _transposed(self, value: Value) -> Value:
        made = views.transpose(value)
        self.turned[made.name] = value
        return made

    def apply(self, node: Node, value: Value) -> list[Value]:
        """The node's results as views of ``value``, one for each of its results."""
        return _RULES[base(node.op)](self, node, value)


def _reshaped(layouts: Layouts, node: Node, value: Value) -> list[Value]:
    return [layouts.reshape(value, node.results[0].shape)]


def _permute(layouts: Layouts, node: Node, value: Value) -> list[Value]:
    return [layouts.permute(value, list(node.args[1]))]


def _transpose(layouts: Layouts, node: Node, value: Value) -> list[Value]:
    rank = len(value.shape)
    order = list(range(rank))
    one, other = (node.args[1] % rank, node.args[2] % rank) if len(node.args) > 2 else (rank - 2, rank - 1)
    if rank >= 2:
        order[one], order[other] = order[other], order[one]
    return [layouts.permute(value, order)]


def _unsqueeze(layouts: Layouts, node: Node, value: Value) -> list[Value]:
    return [views.unsqueeze(value, node.args[1])]


def _squeeze(layouts: Layouts, node: Node, value: Value) -> list[Value]:
    given = node.args[1] if len(node.args) > 1 else list(range(len(value.shape)))
    wanted = [given] if isinstance(given, int) else list(given)
    rank = len(value.shape)
    for axis in sorted({axis % rank for axis in wanted}, reverse=True):
        if value.shape[axis] == 1:
            value = views.squeeze(value, axis)
    return [value]


def _expand(layouts: Layouts, node: Node, value: Value) -> list[Value]:
    return [views.expand(value, *node.results[0].shape)]


def _slice(layouts: Layouts, node: Node, value: Value) -> list[Value]:
    _, dim, start, stop = (*node.args, *(0, None, None)[len(node.args) - 1 :])[:4]
    return [_cut(value, dim, start, stop)]


def _cut(value: Value, dim: int, start: Any, stop: Any) -> Value:
    """As Python slices: ends beyond the extent are the extent."""
    extent = value.shape[dim]
    first, last, _ = slice(start, None if stop is not None and stop >= _WHOLE else stop).indices(extent)
    if (first, last) == (0, extent):
        return value
    return views.slice_(value, dim % len(value.shape), first, last)


def _narrow(layouts: Layouts, node: Node, value: Value) -> list[Value]:
    dim, start, length = node.args[1:4]
    return [_cut(value, dim, start, start + length)]


def _select(layouts: Layouts, node: Node, value: Value) -> list[Value]:
    return [views.select(value, node.args[1], node.args[2])]


def _split(layouts: Layouts, node: Node, value: Value) -> list[Value]:
    """split, split_with_sizes and chunk: the results' own extents say where each begins."""
    dim = (node.args[2] if len(node.args) > 2 else node.kwargs.get("dim", 0)) % len(value.shape)
    made, start = [], 0
    for result in node.results:
        made.append(_cut(value, dim, start, start + result.shape[dim]))
        start += result.shape[dim]
    return made


def _unbind(layouts: Layouts, node: Node, value: Value) -> list[Value]:
    dim = node.args[1] if len(node.args) > 1 else 0
    return [views.select(value, dim, index) for index in range(len(node.results))]


_RULES: dict[str, Callable[[Layouts, Node, Value], list[Value]]] = {
    "view": _reshaped,
    "reshape": _reshaped,
    "_unsafe_view": _reshaped,
    "flatten": _reshaped,
    "permute": _permute,
    "transpose": _transpose,
    "swapaxes": _transpose,
    "t": _transpose,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "expand": _expand,
    "slice": _slice,
    "narrow": _narrow,
    "select": _select,
    "split": _split,
    "split_with_sizes": _split,
    "chunk": _split,
    "unbind": _unbind,
}
