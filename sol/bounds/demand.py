"""What the outputs truly depend on: from the outputs backwards, how much of every tensor is needed.

Unused parameters and branches fall away, a slice needs what it shows, a strided window leaves rows unread.
``demand_rules`` says how an operation hands need on; an operation without a rule needs all of its tensors.
"""

from __future__ import annotations

from collections.abc import Container

from kernels.problems.inspection import Node
from sol.bounds.demand_rules import NEEDS_NOTHING, Need, rule_for
from sol.bounds.graph import UNFAMILIAR, Call, GraphView, Value
from sol.bounds.regions import Region, full, union


def demand(view: GraphView, constant: Container[Value] = (), *, cautious: bool = False) -> dict[Value, Region]:
    """The needed region of every tensor that is needed at all.

    ``constant`` names tensors whose values are known without computing them: nothing behind them is needed.
    ``cautious`` takes the least that lookups by unknown indices can need, instead of what they usually do.
    """
    needed: dict[Value, Region] = {}
    for value in view.outputs:
        if value not in constant:
            _merge(view, needed, value, full(len(view.spec(value).shape)))
    for node in reversed(view.nodes):
        wanted = {
            index: needed[node.name, index]
            for index in range(len(node.results))
            if (node.name, index) in needed and (node.name, index) not in constant
        }
        if wanted:
            for value, region in _hand_on(view.call(node), wanted, cautious):
                if value not in constant:
                    _merge(view, needed, value, region)
    return needed


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


def _merge(view: GraphView, needed: dict[Value, Region], value: Value, region: Region) -> None:
    shape = view.spec(value).shape
    if region.elements(shape) == 0:
        return
    before = needed.get(value)
    needed[value] = region if before is None else union(before, region, shape)
