"""A hand-written source as an emission: one unit, byte for byte the source, and a plan of one launch."""

from __future__ import annotations

from kernels.codegen.emission import Emission, Header, Launch, Plan, PlanValue, Unit
from kernels.languages import Language, check_target, check_text
from kernels.problems.inspection import Signature, TensorSpec
from kernels.raw.header import HEADER, LAUNCH, problem_header
from kernels.targets import Target

STAGE = "launch"
"""What the only stage of a hand-written kernel is called."""


def emit_raw(source: str, language: Language, signature: Signature, target: Target) -> Emission:
    """The unit and plan of a .cu or .cpp source; SourceRefused or LanguageElsewhere where it cannot be one."""
    check_text(source)
    check_target(language, target)
    unit = Unit(
        symbol=LAUNCH,
        language="cuda" if language is Language.CU else "c++",
        source=source,
        lines=(),
        stages=(STAGE,),
        headers=(Header(HEADER, problem_header(signature, language)),),
        hand_written=True,
    )
    return Emission(target, (unit,), _plan(signature))


def _plan(signature: Signature) -> Plan:
    # A colon keeps inputs and outputs apart from parameters, whose names the plan must keep.
    inputs = [_value(spec, f"input:{index}") for index, spec in enumerate(signature.inputs)]
    parameters = [_value(spec, spec.name) for spec in signature.parameters]
    outputs = [_value(spec, f"output:{index}") for index, spec in enumerate(signature.outputs)]
    launch = Launch(
        stage=STAGE,
        symbol=LAUNCH,
        pointers=tuple(value.name for value in (*inputs, *parameters)),
        results=tuple(value.name for value in outputs),
        sizes=(),
        workspace_bytes=0,
        once=False,
        abi="arrays",
    )
    return Plan(
        values=(*inputs, *parameters, *outputs),
        inputs=tuple(value.name for value in inputs),
        parameters=tuple(value.name for value in parameters),
        steps=(launch,),
        outputs=tuple(value.name for value in outputs),
    )


def _value(spec: TensorSpec, name: str) -> PlanValue:
    return PlanValue(name, spec.dtype, spec.shape, dense_strides(spec.shape), 0, name)


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a row-major tensor, as torch gives them (an extent of 0 counts as 1)."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))
