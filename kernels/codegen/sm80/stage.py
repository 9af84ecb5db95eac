"""Chooses the generator of a stage: CUTLASS 2.x for the tensor cores, the kernels that all cards share for the rest."""

from __future__ import annotations

from kernels.codegen.cuda import stages
from kernels.codegen.emission import StageCode
from kernels.codegen.sm80.gemm import emit_gemm
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign
from kernels.targets import Target

_OWN: dict[str, stages.Emitter] = {"gemm": emit_gemm, "bmm": emit_gemm}


def emit_stage(stage: Stage, source: Assign | None) -> StageCode:
    """The unit and the call of one stage that is not torch's; ``source`` is its syntax tree, for line numbers.

    Raises the errors of ``codegen.errors`` and ``cuda.errors`` for what this target has no code for.
    """
    return stages.emit_stage(stage, source, Target.SM80, _OWN)
