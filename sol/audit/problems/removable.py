"""Work that algebra removes: products of which only sums are used, the cheaper order of two products, unused parts.

What fast algorithms (Winograd, FFT) save is left out: they compute the same work in another way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kernels.problems.inspection import Inspection
from sol.audit.problems.record import Flaw, ProblemFlaw, number
from sol.audit.record import Severity
from sol.bounds.count import count
from sol.bounds.floor import least_need
from sol.bounds.graph import UNFAMILIAR, Call, GraphView, Value
from sol.bounds.ops.attention import ATTENTIONS
from sol.bounds.ops.convolution import CONVOLUTIONS
from sol.bounds.ops.matmul import MATMULS, extents
from sol.bounds.ops.recurrent import LAYERS
from sol.bounds.record import WorkItem
from sol.bounds.regions import Region
from sol.bounds.savings import association, structure, sums

_HALF = 0.5
_MOST_GONE = 0.1
"""Where no more than this is left, the problem is another one than it says."""


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of one operation: by algebra, and by the structure of its operands (triangles, masks)."""

    item: WorkItem
    algebra: float
    structure: float
    words: str


def flaws(view: GraphView, inspection: Inspection) -> Iterator[ProblemFlaw]:
    """One flaw for all of a problem's matrix work, where at most half is left."""
    work = count(inspection)
    items = [item for item in work.items if item.pipe == "matrix" and item.flops]
    whole = float(sum(item.flops for item in items))
    if not whole:
        return
    try:
        left = list(_left(view, items))
    except UNFAMILIAR:
        return
    remains = sum(part.algebra * part.item.flops for part in left)
    if remains <= _HALF * whole:
        yield _flaw(left, whole, remains, "algebra leaves")
        return
    structured = sum(part.algebra * part.structure * part.item.flops for part in left)
    if structured <= _HALF * whole:
        yield _flaw(left, whole, structured, "the structure of its operands leaves", structured=True)


def _flaw(left: list[_Left], whole: float, remains: float, verb: str, *, structured: bool = False) -> ProblemFlaw:
    share = remains / whole
    largest = sorted(left, key=lambda part: (part.algebra - 1) * part.item.flops)
    told = [part for part in largest if part.words and (structured or part.algebra < 1)][:3]
    severity = Severity.SEVERE if share <= _MOST_GONE else Severity.SUSPECT
    return ProblemFlaw(
        Flaw.REMOVABLE_WORK,
        Severity.INFO if structured else severity,
        0.9,
        "graph",
        f"{verb} {number(share)} of the reference's {number(whole)} matrix FLOP: "
        + "; ".join(f"{part.item.node}: {part.words}" for part in told),
        {"reference_flop": whole, "left_flop": remains, "left_share": share},
        tuple(part.item.node for part in told),
    )


def _left(view: GraphView, items: list[WorkItem]) -> Iterator[_Left]:
    _, needed = least_need(view)
    orders, factors = association.cheaper_orders(view), sums.summed(view)
    for item in items:
        call = view.call(view.producers[item.node])
        share, words = 1.0, []
        used = _used(call, needed)
        if used < 1 and call.op not in LAYERS:
            share *= used
            words.append("no input can change what depends on it" if not used else f"{number(used)} of it is used")
        if orders.get(item.node, 1.0) < 1:
            share *= orders[item.node]
            words.append("the other order of the two products is cheaper")
        summed = factors.get((item.node, 0), 1.0)
        if summed > 1 and call.op in MATMULS | CONVOLUTIONS:
            share /= summed
            words.append(_of_sums(call, summed))
        of_structure, reasons = _structure(call)
        yield _Left(item, share, of_structure, "; ".join([*words, *reasons]))


def _of_sums(call: Call, summed: float) -> str:
    if call.op in MATMULS:
        size = extents(call)
        if summed >= size.n and size.n > 1:
            product = f"[{size.m:,} × {size.n:,} × {size.k:,}] product"
            return f"only sums over all {size.n:,} columns of the {product} are used: a matrix-vector product does"
    return f"only sums over {number(summed)} of its elements are used, so its operands can be summed first"


def _structure(call: Call) -> tuple[float, list[str]]:
    found: list[tuple[float, str]] = []
    if call.op in MATMULS:
        found = structure.saving(call)
    elif call.op in ATTENTIONS:
        found = structure.attention_saving(call)
    share = 1.0
    for factor, _ in found:
        share *= factor
    return share, [reason for _, reason in found]


def _used(call: Call, needed: dict[Value, Region]) -> float:
    shares = [
        needed[call.node.name, index].elements(result.shape) / result.elements
        for index, result in enumerate(call.node.results)
        if (call.node.name, index) in needed and result.elements
    ]
    return max(shares, default=0.0)
