"""sm_90a: the operands of a convolution as its tensor cores read them: channels last, in whole vectors of 16 bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from agent.proposers.moves.move import Move, Scene, size
from agent.proposers.moves.trees import NOWHERE, declared, fresh, root, with_stages
from kernels.dsl.edit import find_stage, remove_knob
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Argument, Assign, Name, Number, Program, Sequence
from kernels.dtypes import DType
from kernels.targets import Policy, Target

_RATE = 8.0
"""Dense rate of tf32, the slowest type there, against FP32 without tensor cores."""
_VECTOR_BYTES = 16


def moves(scene: Scene) -> Iterator[Move]:
    """For each convolution on the CUDA cores that could leave them. Results come out channels last, too."""
    strict = scene.started.policy is Policy.STRICT
    fixed = frozenset(value.name for value in scene.checked.parameters)
    fixed |= {each.name for each in scene.checked.stages if each.once}
    for stage in scene.stages("conv") if scene.started.target is Target.SM90A else ():
        x, w = stage.operands[:2]
        if stage.knobs["math"] != "f32" or stage.attributes["groups"] > 1 or (strict and x.dtype is DType.F32):
            continue
        more = -stage.attributes["channels"] % (_VECTOR_BYTES // x.dtype.bytes)
        moved = 2 * (x.elements * x.dtype.bytes + w.elements * w.dtype.bytes)
        yield Move(
            stage=stage.name,
            change=f"relayout operands of {stage.name} for the tensor cores",
            hypothesis=f"Copying its operands channels last moves {size(moved)}; the tensor cores do the rest.",
            gain=_RATE**0.5,
            implementation_risk=1.5,
            performance_risk=1.3,
            relieves="compute",
            edit=partial(_relayout, stage=stage, more=more, fixed=fixed),
        )


def _relayout(program: Program, stage: Stage, more: int, fixed: frozenset[str]) -> Program:
    """Stages in front that pad the channels by ``more`` and turn the tensors; knobs of the old layout go."""
    for knob in ("math", "layout", "tile"):
        program = remove_knob(program, stage.name, knob)
    made: list[Assign] = []
    args: list[Argument] = []
    for argument in find_stage(program, stage.name).args:
        owner = root(argument.text, declared(program)) if isinstance(argument, Name) else None
        if owner is None:
            args.append(argument)
            continue
        turned = argument
        for op, setting in _steps(stage, more):
            name = fresh(with_stages(program, *program.stages, *made), f"{owner.replace('.', '_')}_{op}")
            made.append(Assign(name, op, (turned, setting), (), (), (), owner in fixed, NOWHERE))
            turned = Name(name, NOWHERE)
        args.append(turned)
    stages: list[Assign] = []
    for each in program.stages:
        stages += [*made, replace(each, args=tuple(args))] if each.target == stage.name else [each]
    return with_stages(program, *stages)


def _steps(stage: Stage, more: int) -> Iterator[tuple[str, Argument]]:
    if more:
        # Torch's order: a pair for the last dimension, then one for that before it; channels are the second.
        border = [0, 0] * int(stage.attributes["dims"]) + [0, more]
        yield "pad", Sequence(tuple(Number(number, NOWHERE) for number in border), NOWHERE)
    yield "relayout", Name("channels_last", NOWHERE)
