"""A problem operation by operation: what it takes, how much of it the outputs use, and what the floor leaves of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernels.problems.inspection import Inspection, TensorSpec
from sol.bounds.demand import demand
from sol.bounds.floor import Remainder, least_need, remaining
from sol.bounds.graph import UNFAMILIAR, GraphView, Value
from sol.bounds.record import Work, WorkItem
from sol.bounds.regions import Region


@dataclass(frozen=True, slots=True)
class OpRow:
    """One operation at one pipe.

    ``bytes_read`` and ``bytes_written`` are its own, unfused, each operand once. ``used_share`` is how much of its
    first result the outputs depend on, None where that is not worked out. ``floor_flops`` is what the floor leaves
    of matrix work (None for other work, which it leaves out), ``savings`` say why.
    """

    node: str
    op: str
    pipe: Literal["matrix", "vector", "none"]
    dtype: str
    flops: int
    bytes_read: int
    bytes_written: int
    used_share: float | None
    floor_flops: float | None
    savings: tuple[str, ...]
    formula: str
    known: bool


@dataclass(frozen=True, slots=True)
class TensorRow:
    """A tensor at the edge of the graph: ``moved`` bytes are what a fused program reads or writes of it.

    ``least`` is what the floor still counts of an input or parameter; of an output both are all of it.
    """

    name: str
    role: Literal["input", "parameter", "output"]
    spec: TensorSpec
    moved: int
    least: int


def tensors(inspection: Inspection) -> tuple[TensorRow, ...]:
    """Inputs, parameters and outputs, those that move the most bytes first; without a graph all of each is moved."""
    signature = inspection.signature
    usual, least = _needs(inspection)
    found = [TensorRow(spec.name, "output", spec, spec.bytes, spec.bytes) for spec in signature.outputs]
    for role, specs in (("input", signature.inputs), ("parameter", signature.parameters)):
        for spec in specs:
            moved, low = (_bytes(spec, need) for need in (usual, least))
            found.append(TensorRow(spec.name, "input" if role == "input" else "parameter", spec, moved, low))
    return tuple(sorted(found, key=lambda row: -row.moved))


def _needs(inspection: Inspection) -> tuple[dict[Value, Region] | None, dict[Value, Region] | None]:
    if inspection.graph is None:
        return None, None
    view = GraphView(inspection)
    try:
        return demand(view), least_need(view)[1]
    except UNFAMILIAR:
        return None, None


def _bytes(spec: TensorSpec, needed: dict[Value, Region] | None) -> int:
    if needed is None:
        return spec.bytes
    region = needed.get((spec.name, 0))
    return 0 if region is None else region.elements(spec.shape) * spec.dtype.bytes


def rows(work: Work, inspection: Inspection) -> tuple[OpRow, ...]:
    """Every counted operation in the graph's order; empty for a problem without a graph."""
    if inspection.graph is None:
        return ()
    view = GraphView(inspection)
    try:
        needed = demand(view)
        left = {(part.item.node, part.item.pipe): part for part in remaining(work, view)}
    except UNFAMILIAR:
        needed, left = {}, {}
    return tuple(_row(view, item, needed, left.get((item.node, item.pipe))) for item in work.items)


def _row(view: GraphView, item: WorkItem, needed: dict[Value, Region], part: Remainder | None) -> OpRow:
    call = view.call(view.producers[item.node])
    result = call.node.results[0] if call.node.results else None
    region = needed.get((item.node, 0))
    share = None if region is None or not result or not result.elements else region.elements(result.shape)
    return OpRow(
        node=item.node,
        op=item.op,
        pipe=item.pipe,
        dtype=(call.first if item.pipe == "matrix" and call.values else result or call.first).dtype.value,
        flops=item.flops,
        bytes_read=item.bytes_read,
        bytes_written=item.bytes_written,
        used_share=None if share is None or result is None else share / result.elements,
        floor_flops=None if part is None else part.flops,
        savings=() if part is None else part.reasons,
        formula=item.formula,
        known=item.known,
    )
