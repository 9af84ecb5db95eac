"""Changes to a program's knobs, for searches: each gives a new program and leaves the old one as it was.

Nothing is checked here: a change may make a program that the checker refuses. The text of the result is
``format_program``'s; its places are those of the program it was made from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TypeAlias

from kernels.dsl.syntax import Argument, Assign, Knob, Name, Number, Program

Value: TypeAlias = "int | float | str | Argument"


def stage_names(program: Program) -> tuple[str, ...]:
    """The names of the stages, bare views left out, from top to bottom."""
    return tuple(stage.target for stage in program.stages if stage.op != "view")


def find_stage(program: Program, stage: str) -> Assign:
    """The stage of that name; KeyError where there is none."""
    found = next((assign for assign in program.stages if assign.target == stage), None)
    if found is None:
        raise KeyError(stage)
    return found


def set_knob(program: Program, stage: str, knob: str, args: Iterable[Value]) -> Program:
    """``program`` with ``.knob(args)`` on ``stage``: in its old place where it was set, else behind the others.

    A text among ``args`` is a word such as ``auto`` or ``f32``. KeyError where there is no such stage.
    """

    def change(assign: Assign) -> Assign:
        made = Knob(knob, tuple(_argument(arg, assign) for arg in args), assign.span)
        if not any(old.name == knob for old in assign.knobs):
            return dataclasses.replace(assign, knobs=(*assign.knobs, made))
        knobs = tuple(made if old.name == knob else old for old in assign.knobs)
        return dataclasses.replace(assign, knobs=knobs)

    return _changed(program, stage, change)


def remove_knob(program: Program, stage: str, knob: str) -> Program:
    """``program`` with ``stage``'s knob left to the default. KeyError where there is no such stage."""

    def change(assign: Assign) -> Assign:
        return dataclasses.replace(assign, knobs=tuple(old for old in assign.knobs if old.name != knob))

    return _changed(program, stage, change)


def _changed(program: Program, stage: str, change: Callable[[Assign], Assign]) -> Program:
    find_stage(program, stage)
    stages = tuple(change(assign) if assign.target == stage else assign for assign in program.stages)
    return dataclasses.replace(program, stages=stages, source="")


def _argument(value: Value, assign: Assign) -> Argument:
    if isinstance(value, str):
        return Name(value, assign.span)
    if isinstance(value, int | float):
        return Number(value, assign.span)
    return value
