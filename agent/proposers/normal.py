"""The one text of a program: knobs in a fixed order, none that only repeats its default.

Two candidates with the same normal text are the same program, whichever moves led to it.
"""

from __future__ import annotations

from dataclasses import replace

from agent.steps import Started
from kernels.dsl import ProgramErrors, check, format_program
from kernels.dsl.edit import remove_knob
from kernels.dsl.ir import CheckedProgram
from kernels.dsl.syntax import Program


def checked(started: Started, program: Program) -> CheckedProgram:
    """``program`` for the run's problem, target and policy; raises ProgramErrors."""
    return check(program, started.signature, started.target, started.policy)


def normal_text(started: Started, program: Program) -> str:
    """The normal text of a legal program; raises ProgramErrors for one that is not."""
    meant = _knobs(checked(started, program))
    for assign in program.stages:
        for knob in assign.knobs:
            shorter = remove_knob(program, assign.target, knob.name)
            if _same(started, shorter, meant):
                program = shorter
    stages = (replace(each, knobs=tuple(sorted(each.knobs, key=lambda knob: knob.name))) for each in program.stages)
    return format_program(replace(program, stages=tuple(stages), source=""))


def _same(started: Started, program: Program, meant: list[object]) -> bool:
    try:
        return _knobs(checked(started, program)) == meant
    except ProgramErrors:
        return False


def _knobs(program: CheckedProgram) -> list[object]:
    """What knobs decide: every stage's knobs, and its results' types, which ``out`` sets."""
    return [(stage.knobs, [value.dtype for value in stage.results]) for stage in program.stages]
