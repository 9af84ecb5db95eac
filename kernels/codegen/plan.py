"""The plan: every tensor a program touches, and its stages in order. The same for every target.

It places no memory and picks no streams: the process that runs a plan owns both.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernels.codegen.emission import Launch, Plan, PlanValue, StageCode, TorchCall
from kernels.dsl.ir import CheckedProgram, Stage, Value


def build_plan(checked: CheckedProgram, codes: Mapping[str, StageCode]) -> Plan:
    """The plan of a program; ``codes`` holds the code of each stage that is not a torch call, by the stage's name."""
    return Plan(
        values=_values(checked),
        inputs=tuple(value.name for value in checked.inputs),
        parameters=tuple(value.name for value in checked.parameters),
        steps=tuple(_step(stage, codes.get(stage.name)) for stage in checked.stages),
        outputs=tuple(value.name for value in checked.outputs),
    )


def _values(checked: CheckedProgram) -> tuple[PlanValue, ...]:
    """All values by name, storage owners before their views. An output that is a bare view counts as well."""
    values: dict[str, Value] = {}
    results = (value for stage in checked.stages for value in stage.results)
    operands = (value for stage in checked.stages for value in stage.operands)
    for value in (*checked.inputs, *checked.parameters, *checked.values, *results, *checked.outputs, *operands):
        values.setdefault(value.name, value)
    ordered = sorted(values.values(), key=lambda value: value.storage != value.name)
    return tuple(plan_value(value) for value in ordered)


def plan_value(value: Value) -> PlanValue:
    """A checked value as the plan names it."""
    return PlanValue(value.name, value.dtype, value.shape, value.strides, value.offset, value.storage)


def _step(stage: Stage, code: StageCode | None) -> Launch | TorchCall:
    results = tuple(value.name for value in stage.results)
    if code is None:
        attributes = stage.attributes
        return TorchCall(
            stage=stage.name,
            function=attributes["function"],
            args=tuple(attributes.get("args", ())),
            kwargs=dict(attributes.get("kwargs", {})),
            results=results,
            once=stage.once,
        )
    return Launch(
        stage=stage.name,
        symbol=code.unit.symbol,
        pointers=code.pointers,
        results=results,
        sizes=code.sizes,
        workspace_bytes=code.workspace_bytes,
        once=stage.once,
    )
