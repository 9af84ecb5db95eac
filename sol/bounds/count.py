"""A problem's work: what each operation of the reference's graph takes, and what a fused program must still move."""

from __future__ import annotations

from kernels.problems.inspection import Inspection, Node
from sol.bounds import ops
from sol.bounds.demand import demand, is_needed, needed_bytes
from sol.bounds.graph import UNFAMILIAR, GraphView
from sol.bounds.ops.registry import Cost, rule_for
from sol.bounds.record import Work, WorkItem

UNTRACED = "untraced"
"""What ``unknown_ops`` holds for a problem without a graph."""


def count(inspection: Inspection) -> Work:
    """FLOPs and bytes by operation. An operation without a rule is named in ``unknown_ops``, never a silent zero.

    Operations that no output depends on take nothing: a fused program leaves them out. A problem whose forward
    could not be traced has its signature's bytes, no FLOPs, and ``unknown_ops`` says so.
    """
    if inspection.graph is None:
        signature = inspection.signature
        read = sum(spec.bytes for spec in (*signature.inputs, *signature.parameters))
        return Work((), 0, 0, read, _output_bytes(inspection), (UNTRACED,))
    view = GraphView(inspection)
    needed = demand(view)
    items: list[WorkItem] = []
    unknown: dict[str, None] = {}
    for node in view.nodes:
        if not is_needed(node, needed):
            continue
        found = _items(view, node)
        items += found
        if not all(item.known for item in found):
            unknown[node.op] = None
    return Work(
        items=tuple(items),
        matrix_flops=sum(item.flops for item in items if item.pipe == "matrix"),
        vector_flops=sum(item.flops for item in items if item.pipe == "vector"),
        input_bytes=needed_bytes(view, needed),
        output_bytes=_output_bytes(inspection),
        unknown_ops=tuple(unknown),
    )


def _output_bytes(inspection: Inspection) -> int:
    return sum(spec.bytes for spec in inspection.signature.outputs)


def _items(view: GraphView, node: Node) -> list[WorkItem]:
    call = view.call(node)
    reads = sum(spec.bytes for spec in call.operands)
    writes = sum(spec.bytes for spec in node.results)
    rule = rule_for(node.op)
    if rule is None:
        return [WorkItem(node.name, node.op, "none", 0, reads, writes, f"no rule for {node.op}", False)]
    try:
        costs = rule(call)
    except UNFAMILIAR as error:
        formula = f"the rule for {node.op} met arguments it does not know ({error})"
        return [WorkItem(node.name, node.op, "none", 0, reads, writes, formula, False)]
    return [
        WorkItem(
            node=node.name,
            op=node.op,
            pipe=cost.pipe,
            flops=cost.flops,
            bytes_read=reads if cost.reads is None else cost.reads,
            bytes_written=writes if cost.writes is None else cost.writes,
            formula=cost.formula,
            known=True,
        )
        for cost in ((costs,) if isinstance(costs, Cost) else costs)
    ]


FAMILIES = ops.FAMILIES
"""Importing the families is what fills the table of rules."""
