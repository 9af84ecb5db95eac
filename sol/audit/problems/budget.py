"""How much of a problem this machine may run: shares of its whole extent, from its work and its memory."""

from __future__ import annotations

from collections.abc import Iterator

import psutil

from kernels.problems.inspection import Inspection
from kernels.problems.sample import Budget
from sol.bounds.count import count
from sol.bounds.graph import GraphView, Value
from sol.bounds.ops.views import PERMUTES, RESHAPES

_SMALL_FLOPS, _LARGE_FLOPS = 6e9, 1.5e11
"""Work of one forward pass: of a small sample, and the most of a large one."""
_SMALL_BYTES, _LARGE_BYTES = 0.1e9, 6e9
_GRADIENT_BYTES = 4e9
_SECONDS = 20.0
"""No further part of a sample is begun after this; a part that is under way has the child's limit."""
_VIEWS = RESHAPES | PERMUTES | {"squeeze", "unsqueeze", "expand", "select", "slice", "split", "unbind"}


def budget(inspection: Inspection, *, memory: float | None = None) -> Budget:
    """The budget of one problem. ``memory`` is what may be used, in bytes; half of what is free by default."""
    most = min(_LARGE_BYTES, psutil.virtual_memory().available / 2 if memory is None else memory)
    flops, (fixed, moving) = float(count(inspection).flops), peak_bytes(inspection)
    small = min(_share(flops, 0, _SMALL_FLOPS), _share(moving, 0, _SMALL_BYTES))
    large = min(_share(flops, 0, _LARGE_FLOPS), _share(moving, fixed, most))
    # A backward pass keeps every intermediate: a part of the extent is run, so it is that part's.
    gradients = fixed * 3 + small * moving * 8 < _GRADIENT_BYTES
    return Budget(min(small, large), large, _SECONDS, gradients)


def _share(whole: float, fixed: float, most: float) -> float:
    if whole <= 0 or fixed + whole <= most:
        return 1.0
    return max(0.0, most - fixed) / whole


def peak_bytes(inspection: Inspection) -> tuple[int, int]:
    """Bytes of the parameters, and the most that inputs and intermediate results take at a time.

    Intermediates live from the operation that makes them to the last that reads them, views with what they look at.
    """
    fixed = sum(spec.bytes for spec in inspection.signature.parameters)
    inputs = sum(spec.bytes for spec in inspection.signature.inputs)
    if inspection.graph is None:
        return fixed, inputs + 3 * sum(spec.bytes for spec in inspection.signature.outputs)
    view = GraphView(inspection)
    owner = _owners(view)
    last: dict[str, int] = {}
    for place, node in enumerate(view.nodes):
        for name, _ in view.arguments[node.name]:
            last[owner.get(name, name)] = place
    for value in view.outputs:
        last[owner.get(value[0], value[0])] = len(view.nodes)
    live = peak = 0
    sizes: dict[str, int] = {}
    for place, node in enumerate(view.nodes):
        if owner[node.name] == node.name:
            sizes[node.name] = sum(spec.bytes for spec in node.results)
            live += sizes[node.name]
            peak = max(peak, live)
        for name in _read(view.arguments[node.name], owner):
            if last.get(name) == place:
                live -= sizes.pop(name, 0)
    return fixed, inputs + peak


def _owners(view: GraphView) -> dict[str, str]:
    owner: dict[str, str] = {}
    for node in view.nodes:
        call = view.call(node)
        looks = call.op in _VIEWS and bool(call.values)
        owner[node.name] = owner.get(call.values[0][0], call.values[0][0]) if looks else node.name
    return owner


def _read(values: tuple[Value, ...], owner: dict[str, str]) -> Iterator[str]:
    yield from dict.fromkeys(owner.get(name, name) for name, _ in values)
