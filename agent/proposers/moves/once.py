"""Do work on parameters once: mark it ``@once``, or lay a transposed parameter out as it is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agent.proposers.moves.move import Move, Scene, size
from agent.proposers.moves.trees import NOWHERE, declared, fresh, root, stage_names, with_stages
from kernels.dsl.edit import find_stage
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign, Name, Program


def moves(scene: Scene) -> Iterator[Move]:
    """Marks first, then layouts."""
    fixed = {value.name for value in scene.checked.parameters}
    for stage in scene.checked.stages:
        if _depends_only_on(scene.program, stage.name, frozenset(fixed)):
            fixed.add(stage.name)
            if not stage.once and stage.op in ("cast", "map", "gemm", "bmm"):
                yield _mark(stage)
    for stage in scene.stages("gemm", "bmm"):
        yield from _layouts(scene, stage, frozenset(fixed))


def _depends_only_on(program: Program, target: str, fixed: frozenset[str]) -> bool:
    known = declared(program)
    read = {root(text, known) for text in stage_names(find_stage(program, target))} - {None}
    return bool(read) and read <= fixed


def _mark(stage: Stage) -> Move:
    saved = stage.result.elements * stage.result.dtype.bytes
    return Move(
        stage=stage.name,
        change=f"once {stage.name}",
        hypothesis=f"{stage.name} depends on parameters alone: {size(saved)} less written at every call.",
        gain=20.0,
        implementation_risk=1.0,
        performance_risk=1.0,
        relieves="both",
        edit=lambda program: with_stages(
            program, *(replace(each, once=each.once or each.target == stage.name) for each in program.stages)
        ),
    )


def _layouts(scene: Scene, stage: Stage, fixed: frozenset[str]) -> Iterator[Move]:
    assign = find_stage(scene.program, stage.name)
    for index, (argument, value) in enumerate(zip(assign.args, stage.operands, strict=False)):
        if not isinstance(argument, Name) or value.contiguous or value.storage not in fixed:
            continue
        yield _layout(stage, index, argument.text, value.elements * value.dtype.bytes)


def _layout(stage: Stage, index: int, view: str, moved: int) -> Move:
    return Move(
        stage=stage.name,
        change=f"relayout {view} @once for {stage.name}",
        hypothesis=f"{view} is read across its rows at every call; laid out once, its {size(moved)} stream in order.",
        gain=1.1,
        implementation_risk=1.0,
        performance_risk=1.3,
        relieves="memory",
        edit=lambda program: _lay_out(program, stage.name, index, view),
    )


def _lay_out(program: Program, target: str, index: int, view: str) -> Program:
    name = fresh(program, f"{view}_laid")
    laid = Assign(name, "map", (Name(view, NOWHERE),), (), (), (), True, NOWHERE)
    stages: list[Assign] = []
    for assign in program.stages:
        if assign.target == target:
            args = tuple(Name(name, NOWHERE) if i == index else arg for i, arg in enumerate(assign.args))
            stages += [laid, replace(assign, args=args)]
        else:
            stages.append(assign)
    return with_stages(program, *stages)
