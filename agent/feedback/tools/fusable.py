"""Which stages could join the stage before them: what the fusion tools share. It judges nothing."""

from __future__ import annotations

from agent.feedback.case import Case
from kernels.dsl.ir import Stage, Value

_PRODUCERS = ("gemm", "bmm", "map")
_CONSUMERS = ("map", "cast")


def intermediates(case: Case) -> list[Value]:
    """Results of stages that are no outputs of the program: written by one stage for another to read."""
    if case.checked is None:
        return []
    kept = {value.storage for value in case.checked.outputs}
    return [value for stage in case.running for value in stage.results if value.name not in kept]


def fusable(case: Case) -> list[tuple[Stage, Value]]:
    """Maps and casts that read, at the same shape, a result that nobody else reads; each with that result."""
    made = {
        stage.result.name: stage for stage in case.running if stage.op in _PRODUCERS and stage.reduction is None
    }
    kept = {value.storage for value in case.checked.outputs} if case.checked is not None else set()
    found = []
    for stage in case.running:
        if stage.op not in _CONSUMERS:
            continue
        for operand in stage.operands:
            producer = made.get(operand.name)
            if producer is None or operand.name in kept or producer.result.shape != stage.result.shape:
                continue
            if _readers(case, operand.name) == 1:
                found.append((stage, operand))
                break
    return found


def _readers(case: Case, name: str) -> int:
    return sum(any(value.storage == name for value in stage.operands) for stage in case.running)
