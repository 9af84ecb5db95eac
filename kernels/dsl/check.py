"""From syntax tree to checked program: the order of the passes, and nothing else.

1. ``binding``: parameters and sizes against the problem's signature;
2. ``stages``: each stage from top to bottom (names, views, shapes, chains, knobs);
3. ``binding.outputs``: what is returned;
4. ``liveness``: ``@once`` and unused stages;
5. ``layouts``, ``resources``, ``precision``: what the target and the policy allow.

Every pass notes its errors and goes on, so that all of a program's errors are told at once.
"""

from __future__ import annotations

from kernels.dsl import binding, layouts, liveness, precision, resources
from kernels.dsl.errors import ProgramErrors
from kernels.dsl.ir import CheckedProgram, Stage
from kernels.dsl.scope import Failed, Poisoned, Scope, Several
from kernels.dsl.simd import Simd, detect
from kernels.dsl.stages import Setting, build_stage, check_type, stage_view
from kernels.dsl.syntax import Assign, Program
from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target


def check(
    program: Program, signature: Signature, target: Target, policy: Policy, simd: Simd | None = None
) -> CheckedProgram:
    """``program`` for one problem, target and policy; raises ``ProgramErrors`` with all errors.

    ``simd`` is the CPU that the host target's defaults and rules are for; by default this machine's.
    """
    scope = Scope()
    setting = Setting(target, policy, simd or detect())
    inputs, parameters = binding.bind(program, signature, scope)
    for written in program.stages:
        scope.assigned_on.setdefault(written.target, written.span.line)
    made = [_one_stage(stage, scope, setting) for stage in program.stages]
    stages = tuple(stage for stage in made if stage is not None)
    outputs = binding.outputs(program, signature, scope)
    if len(scope.errors) == 0:
        liveness.unused(stages, outputs, scope)
    for stage in stages:
        liveness.once(stage, scope)
        layouts.check_stage(stage, setting, scope)
        resources.check_stage(stage, setting, scope)
        precision.check_stage(stage, setting, signature, scope)
    if scope.errors:
        raise ProgramErrors(tuple(scope.errors))
    return CheckedProgram(
        name=program.name,
        target=target,
        policy=policy,
        inputs=inputs,
        parameters=parameters,
        values=tuple(scope.values.values()),
        stages=stages,
        outputs=outputs,
        warnings=tuple(scope.cautions),
        program=program,
    )


def _one_stage(stage: Assign, scope: Scope, setting: Setting) -> Stage | None:
    """The stage with its name declared; None for a bare view, and for a stage with errors, whose name is poisoned."""
    owner = f"assigned on line {stage.span.line}"
    try:
        if stage.op == "view":
            value = stage_view(stage, scope)
            for written in stage.results:
                check_type(written, value, scope)
            scope.declare(stage.target, owner, stage.span, value)
            return None
        built = build_stage(stage, scope, setting)
    except Failed:
        scope.declare(stage.target, owner, stage.span, Poisoned())
        return None
    if len(built.results) > 1:
        scope.declare(stage.target, owner, stage.span, Several(len(built.results)))
    source = scope.source_of(built.operands + liveness.chained(built))
    for value in built.results:
        scope.declare(value.name, owner, stage.span, value)
        if source is not None:
            scope.dynamic.setdefault(value.storage, source)
    return built
