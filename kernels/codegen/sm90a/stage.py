"""Chooses the generator of a stage: CUTLASS 3.x for the tensor cores, the kernels that all cards share for the rest."""

from __future__ import annotations

from functools import partial

from kernels.codegen.cuda import stages
from kernels.codegen.cuda.rows import emit_rows
from kernels.codegen.emission import StageCode
from kernels.codegen.sm90a.conv import emit_conv
from kernels.codegen.sm90a.gemm import emit_gemm
from kernels.codegen.sm90a.grouped import emit_grouped
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign
from kernels.targets import Target

_OWN: dict[str, stages.Emitter] = {
    "gemm": emit_gemm,
    "bmm": emit_gemm,
    "grouped_gemm": emit_grouped,
    "conv": emit_conv,
    **dict.fromkeys(("reduce", "softmax", "norm"), partial(emit_rows, early=True)),
}


def emit_stage(stage: Stage, source: Assign | None) -> StageCode:
    """The unit and the call of one stage that is not torch's; ``source`` is its syntax tree, for line numbers.

    Raises the errors of ``codegen.errors`` and ``cuda.errors`` for what this target has no code for.
    """
    return stages.emit_stage(stage, source, Target.SM90A, _OWN)
