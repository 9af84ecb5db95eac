"""Checked program to C++: ``emit`` gives the units to compile and the plan to run them by.

Each target is a package beside this file with one function, ``emit_stage``. A unit is one stage's configuration:
its symbol ``mu_<op>_<12 hex digits>`` is a hash of its own source without the program's names (see ``source``), and
sizes and strides are arguments. So two stages, of one program or of two, that differ in names and sizes alone share a
unit and its shared object. torch stages make no unit: they are calls in the plan.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import cast

from kernels.codegen.emission import Emission, StageCode, Unit
from kernels.codegen.plan import build_plan
from kernels.dsl.ir import CheckedProgram, Stage
from kernels.dsl.syntax import Assign
from kernels.targets import Target

EmitStage = Callable[[Stage, Assign | None], StageCode]

_GENERATORS = {
    Target.HOST: "kernels.codegen.host",
    Target.SM80: "kernels.codegen.sm80",
    Target.SM90A: "kernels.codegen.sm90a",
}


def emit(checked: CheckedProgram) -> Emission:
    """The generated code of a checked program. The same program gives the same bytes, on any machine.

    Raises a UserError (``codegen.errors``) for what the target has no code for.
    """
    emit_stage = _generator(checked.target)
    syntax = {assign.target: assign for assign in checked.program.stages}
    codes = {
        stage.name: emit_stage(stage, syntax.get(stage.name)) for stage in checked.stages if stage.op != "torch"
    }
    return Emission(checked.target, _units(codes), build_plan(checked, codes))


def _generator(target: Target) -> EmitStage:
    return cast(EmitStage, importlib.import_module(_GENERATORS[target]).emit_stage)


def _units(codes: dict[str, StageCode]) -> tuple[Unit, ...]:
    """One unit a symbol, in the order of first use; ``stages`` names all stages that call it."""
    units: dict[str, Unit] = {}
    for stage, code in codes.items():
        known = units.get(code.unit.symbol)
        units[code.unit.symbol] = code.unit if known is None else replace(known, stages=(*known.stages, stage))
    return tuple(units.values())
