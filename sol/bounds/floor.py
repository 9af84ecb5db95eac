"""The floor: what no honest kernel of a problem can beat on a device.

Matrix work that algebra cannot remove, at the fastest rate that gives the policy's error class; bytes that the
outputs truly depend on and the outputs themselves, at memory's rate but for what a cache may hold. Element-wise work
is left out: it may ride along, in narrower types or on the tensor cores. When in doubt, lower.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.problems.inspection import Inspection
from kernels.targets import Policy
from sol.bounds import assumptions, rates
from sol.bounds.demand import demand, needed_bytes
from sol.bounds.graph import UNFAMILIAR, Call, GraphView, Value
from sol.bounds.ops.attention import ATTENTIONS
from sol.bounds.ops.convolution import CONVOLUTIONS
from sol.bounds.ops.matmul import MATMULS
from sol.bounds.ops.movement import COPIES
from sol.bounds.ops.recurrent import LAYERS
from sol.bounds.ops.views import PERMUTES, RESHAPES
from sol.bounds.record import Device, Work, WorkItem
from sol.bounds.regions import Region
from sol.bounds.savings import association, convolutions, recurrent, structure, sums
from sol.bounds.savings.constants import constants
from sol.bounds.units import amount, seconds

_MOST_LINES = 24


@dataclass(frozen=True, slots=True)
class Remainder:
    """What is left of one matrix operation. ``flops`` may be a fraction of the item's."""

    item: WorkItem
    flops: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Floor:
    """The floor in seconds, its FLOPs and bytes, the sum written out, and what it takes for granted."""

    seconds: float
    flops: float
    bytes: int
    arithmetic: tuple[str, ...]
    rests_on: tuple[str, ...] = ()


def floor(work: Work, inspection: Inspection, device: Device, policy: Policy) -> Floor:
    """The floor of one problem; of an untraced one only its outputs count."""
    if inspection.graph is None:
        return _of_outputs_alone(work, device, "the problem has no graph")
    try:
        return _analysed(work, GraphView(inspection), device, policy)
    except UNFAMILIAR as error:
        return _of_outputs_alone(work, device, f"the graph holds what the analysis does not know ({error})")


def _of_outputs_alone(work: Work, device: Device, reason: str) -> Floor:
    lines = [f"floor: only the outputs count: {reason}"]
    took = _memory(0, work.output_bytes, device, lines)
    return Floor(took, 0.0, work.output_bytes, tuple(lines))


def _analysed(work: Work, view: GraphView, device: Device, policy: Policy) -> Floor:
    known, needed = least_need(view)
    read, written = needed_bytes(view, needed), _written_bytes(view)
    lines = [f"floor: {name} is constant ({reason})" for (name, _), reason in list(known.items())[:3]]
    parts = remainders(work, view, needed)
    compute = _compute(parts, view, device, policy, lines)
    memory = _memory(read, written, device, lines)
    total = max(compute, memory)
    lines.append(
        f"floor = max({seconds(compute)}, {seconds(memory)}) = {seconds(total)}; element-wise work left out"
    )
    reasons = [(part.item.node, reason) for part in parts for reason in part.reasons]
    rests_on = assumptions.of_floor(reasons, known.values(), rates.floor_memory(device)[2])
    return Floor(total, sum(part.flops for part in parts), read + written, tuple(lines), rests_on)


def least_need(view: GraphView) -> tuple[dict[Value, str], dict[Value, Region]]:
    """Constant values with their reasons, and the least that the outputs depend on."""
    known = constants(view)
    shown = {value for value in view.outputs if _shows_an_input(view, value)}
    return known, demand(view, known.keys() | shown, cautious=True)


def remaining(work: Work, view: GraphView) -> list[Remainder]:
    """What the floor leaves of each matrix operation."""
    return remainders(work, view, least_need(view)[1])


def remainders(work: Work, view: GraphView, needed: dict[Value, Region]) -> list[Remainder]:
    """What is left of each matrix operation once everything is saved that can be."""
    orders = association.cheaper_orders(view)
    factors = sums.summed(view)
    parts = []
    for item in work.items:
        if item.pipe != "matrix" or not item.flops:
            continue
        call = view.call(view.producers[item.node])
        savings = [*_need(call, needed), *_savings(call, needed)]
        if item.node in orders:
            savings.append((orders[item.node], "the other order of the two products is cheaper"))
        summed = factors.get((item.node, 0), 1.0)
        if summed > 1 and call.op in MATMULS | CONVOLUTIONS:
            savings.append((1 / summed, f"only sums over {summed:,.4g} of its elements are used"))
        left = float(item.flops)
        for factor, _ in savings:
            left *= factor
        parts.append(Remainder(item, left, tuple(reason for _, reason in savings)))
    return parts


def _need(call: Call, needed: dict[Value, Region]) -> list[tuple[float, str]]:
    wanted = [
        needed[call.node.name, index].elements(result.shape) / result.elements
        for index, result in enumerate(call.node.results)
        if (call.node.name, index) in needed and result.elements
    ]
    if not wanted:
        return [(0.0, "nothing that data could change depends on it")]
    if call.op in LAYERS:
        return []  # every step feeds the next
    share = max(wanted)
    return [(share, f"{share:.4g} of its elements are used")] if share < 1 else []


def _savings(call: Call, needed: dict[Value, Region]) -> list[tuple[float, str]]:
    if call.op in MATMULS:
        return structure.saving(call)
    if call.op in CONVOLUTIONS:
        return convolutions.saving(call)
    if call.op in ATTENTIONS:
        return structure.attention_saving(call)
    if call.op in LAYERS:
        return recurrent.saving(call, needed)
    return []


def _compute(parts: list[Remainder], view: GraphView, device: Device, policy: Policy, lines: list[str]) -> float:
    total = 0.0
    for place, part in enumerate(parts):
        rate = rates.floor_matrix(device, view.call(view.producers[part.item.node]).first.dtype, policy)
        total += part.flops / rate.value
        if part.reasons and place < _MOST_LINES:
            lines.append(f"floor, {part.item.node}: {part.item.flops:,} → {amount(part.flops, 'FLOP')}: "
                         + "; ".join(part.reasons))  # fmt: skip
    if len(parts) > _MOST_LINES:
        lines.append(f"floor: and {len(parts) - _MOST_LINES} matrix operations more in the same way")
    if parts:
        rate = rates.floor_matrix(device, view.call(view.producers[parts[-1].item.node]).first.dtype, policy)
        flops = sum(part.flops for part in parts)
        lines.append(f"floor, matrix: {amount(flops, 'FLOP')} ÷ {amount(rate.value, 'FLOP/s')} ({rate.words}) "
                     f"= {seconds(total)}")  # fmt: skip
    return total


def _memory(read: int, written: int, device: Device, lines: list[str]) -> float:
    memory, cache, size = rates.floor_memory(device)
    total = read + written
    if cache is None:
        took = total / memory.value
        lines.append(f"floor, memory: ({read:,} + {written:,}) B ÷ {amount(memory.value, 'B/s')} ({memory.words}) "
                     f"= {seconds(took)}")  # fmt: skip
        return took
    # What the cache can hold may be there from the run before; the rest comes from memory meanwhile.
    outside = max(0, total - size)
    took = max(outside / memory.value, total / cache.value)
    lines.append(f"floor, memory: ({read:,} + {written:,}) B, of which {size:,} B may be cached: "
                 f"max({outside:,} B ÷ {amount(memory.value, 'B/s')} ({memory.words}), "
                 f"{total:,} B ÷ {amount(cache.value, 'B/s')} (cache)) = {seconds(took)}")  # fmt: skip
    return took


def _written_bytes(view: GraphView) -> int:
    """Bytes of outputs, each once; an output that only looks at an input is not written."""
    total = 0
    for value in dict.fromkeys(view.outputs):
        if not _shows_an_input(view, value):
            total += view.spec(value).bytes
    return total


def _shows_an_input(view: GraphView, value: Value) -> bool:
    while value[0] not in view.sources:
        node = view.producers.get(value[0])
        if node is None:
            return False
        call = view.call(node)
        looks = RESHAPES | PERMUTES | {"squeeze", "unsqueeze", "expand", "select", "slice", "split", "unbind"}
        if call.op not in looks - COPIES or not call.values:
            return False
        value = call.values[0]
    return True
