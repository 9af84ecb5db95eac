"""What the outputs truly depend on: from the outputs backwards, how much of every tensor is needed.

Unused parameters and branches fall away, a slice needs what it shows, a strided window leaves rows unread.
``demand_rules`` says how an operation hands need on; an operation without a rule needs all of its tensors.
"""

from __future__ import annotations

from collections.abc import Container

from kernels.problems.inspection import Node
from sol.bounds.demand_rules import NEEDS_NOTHING, Need, rule_for
from sol.bounds.graph import UNFAMILIAR, Call, GraphView, Value
from sol.bounds.regions import Region, full, union_of

_MOST_PENDING = 16
"""Regions of one tensor that are kept apart until all its users have spoken."""


def demand(view: GraphView, constant: Container[Value] = (), *, cautious: bool = False) -> dict[Value, Region]:
    """The needed region of every tensor that is needed at all.

    ``constant`` names tensors whose values are known without computing them: nothing behind them is needed.
    ``cautious`` takes the least that lookups by unknown indices can need, instead of what they usually do.
    """
    pending: dict[Value, list[Region]] = {}
    for value in view.outputs:
        if value not in constant:
            _add(view, pending, value, full(len(view.spec(value).shape)))
    needed: dict[Value, Region] = {}
    for node in reversed(view.nodes):
        # By now every user of the node's results has said what it needs of them.
        for index, result in enumerate(node.results):
            regions = pending.pop((node.name, index), None)
            if regions is not None:
                needed[node.name, index] = union_of(regions, result.shape)
        wanted = {
            index: needed[node.name, index] for index in range(len(node.results)) if (node.name, index) in needed
        }
        if wanted:
            for value, region in _hand_on(view.call(node), wanted, cautious):
                if value not in constant:
                    _add(view, pending, value, region)
    return needed | {value: union_of(regions, view.spec(value).shape) for value, regions in pending.items()}


def is_needed(node: Node, needed: dict[Value, Region]) -> bool:
    """Whether any result of a node is needed."""
    return any((node.name, index) in needed for index in range(len(node.results)))


def needed_bytes(view: GraphView, needed: dict[Value, Region]) -> int:
    """Bytes of inputs and parameters that are needed, each once. What is only looked at as an output is not read."""
    total = 0
    for name, spec in view.sources.items():
        region = needed.get((name, 0))
        if region is not None:
            total += region.elements(spec.shape) * spec.dtype.bytes
    return total


def _hand_on(call: Call, wanted: dict[int, Region], cautious: bool) -> list[Need]:
    if call.op in NEEDS_NOTHING:
        return []
    rule = rule_for(call.op)
    if rule is not None:
        try:
            needs = rule(call, wanted, cautious)
        except UNFAMILIAR:
            needs = None
        if needs is not None:
            return needs
    return [(value, full(len(call.view.spec(value).shape))) for value in dict.fromkeys(call.values)]


def _add(view: GraphView, pending: dict[Value, list[Region]], value: Value, region: Region) -> None:
    shape = view.spec(value).shape
    if region.elements(shape) == 0:
        return
    regions = pending.setdefault(value, [])
    regions.append(region)
    if region.is_full or len(regions) > _MOST_PENDING:
        pending[value] = [union_of(regions, shape)]
