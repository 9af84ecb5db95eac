"""Multiply FP32 data in a lower precision, as far as the run's policy goes: by ``math``, or by casts in front."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from agent.proposers.moves.move import Move, Scene, knob_move, size
from agent.proposers.moves.trees import NOWHERE, declared, fresh, root, with_stages
from kernels.dsl.edit import find_stage, set_knob
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Argument, Assign, Name, Program
from kernels.dtypes import DType
from kernels.targets import Policy

_LOWER = {Policy.STRICT: (), Policy.TF32: ("tf32",), Policy.HALF: ("tf32", "f16", "bf16")}
_RATE = {"f32": 1.0, "tf32": 8.0, "f16": 16.0, "bf16": 16.0, "tf32x3": 8 / 3, "bf16x3": 16 / 3, "bf16x6": 16 / 6}
"""Dense matrix rate of an H100 against FP32 without tensor cores (256, 2048 and 4096 FLOP a clock and SM)."""
_HOST_RATE = 1.5
"""What half precision is given credit for on a CPU: half the bytes; whether its units help is not known here."""


def moves(scene: Scene) -> Iterator[Move]:
    """For each product of FP32 data, each lower precision that the policy allows."""
    for stage in scene.stages("gemm", "bmm", "conv"):
        if any(value.dtype is not DType.F32 for value in stage.operands[:2]):
            continue
        now = str(stage.knobs.get("math", "f32"))
        for lower in _LOWER[scene.started.policy]:
            gain = _RATE[lower] / _RATE[now] if scene.started.target.is_cuda else _HOST_RATE
            if lower == now or gain <= 1:
                continue
            yield _math(stage, now, lower, gain)
            if lower in ("f16", "bf16"):
                yield _casts(scene, stage, lower, gain)


def _math(stage: Stage, now: str, lower: str, gain: float) -> Move:
    flops = 2 * _elements(stage) * _depth(stage)
    return knob_move(
        stage,
        "math",
        (lower,),
        f"{flops / 1e9:.3g} GFLOP at {lower} instead of {now}; the policy allows it.",
        gain=gain**0.5,
        implementation_risk=1.5,
        performance_risk=1.3,
        relieves="compute",
    )


def _elements(stage: Stage) -> int:
    """Elements of the product or convolution, reduced afterwards or not."""
    if stage.reduction is None:
        return stage.result.elements
    return int(stage.attributes["m"] * stage.attributes["n"] * stage.attributes.get("batch", 1))


def _depth(stage: Stage) -> int:
    """Products that are summed for one element of the result; of a convolution, those of a window inside."""
    attributes = stage.attributes
    if stage.op != "conv":
        return int(attributes["k"])
    return int(attributes["channels"] // attributes["groups"] * math.prod(attributes["kernel"]))


def _casts(scene: Scene, stage: Stage, lower: str, gain: float) -> Move:
    saved = sum(value.elements for value in stage.operands[:2]) * 2
    fixed = frozenset(value.name for value in scene.checked.parameters)
    fixed |= {each.name for each in scene.checked.stages if each.once}
    return Move(
        stage=stage.name,
        change=f"cast operands of {stage.name} to {lower}",
        hypothesis=f"Operands in {lower} are {size(saved)} smaller, and parameters are cast once.",
        gain=gain**0.4,
        implementation_risk=1.5,
        performance_risk=1.5,
        relieves="both",
        edit=lambda program: _cast(program, stage.name, lower, fixed),
    )


def _cast(program: Program, target: str, lower: str, fixed: frozenset[str]) -> Program:
    out = "f32"
    known = declared(program)
    assign = find_stage(program, target)
    if not any(knob.name == "out" for knob in assign.knobs):
        program = set_knob(program, target, "out", (out,))
        assign = find_stage(program, target)
    made: list[Assign] = []
    args: list[Argument] = []
    for argument in assign.args:
        owner = root(argument.text, known) if isinstance(argument, Name) else None
        if owner is None or not isinstance(argument, Name):
            args.append(argument)
            continue
        # The tensor is cast as it lies in memory and the view is taken of the copy: reading stays in order.
        name = fresh(with_stages(program, *program.stages, *made), f"{owner}_{lower}")
        made.append(
            Assign(name, "cast", (Name(owner, NOWHERE), Name(lower, NOWHERE)), (), (), (), owner in fixed, NOWHERE)
        )
        args.append(Name(name + argument.text[len(owner) :], NOWHERE))
    stages: list[Assign] = []
    for each in program.stages:
        stages += [*made, replace(each, args=tuple(args))] if each.target == target else [each]
    return with_stages(program, *stages)
