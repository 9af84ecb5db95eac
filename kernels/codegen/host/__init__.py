"""Code for this machine's CPU: C++ with OpenMP over the headers in ``include/mu``.

A unit is short: a Config (types, tiles, packing), the chain as an Epilogue or a Body, and the C function. The loops
live in the headers, whose text is part of the compiler's identity (``toolchain.gxx``). Nothing here depends on the
machine it runs on: vectors get their width when the unit is compiled.
"""

from __future__ import annotations

from pathlib import Path

from kernels.codegen.emission import StageCode
from kernels.codegen.errors import EmptyTensor, OperationWithoutCode
from kernels.codegen.host.conv import emit_conv
from kernels.codegen.host.gemm import emit_gemm
from kernels.codegen.host.grouped import emit_grouped
from kernels.codegen.host.map import emit_map
from kernels.codegen.host.pad import emit_pad
from kernels.codegen.host.pool import emit_pool
from kernels.codegen.host.rows import emit_rows
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign

INCLUDE = Path(__file__).resolve().parent / "include"
"""The folder to give the compiler with ``-I``."""

_EMITTERS = {
    "gemm": emit_gemm,
    "bmm": emit_gemm,
    "grouped_gemm": emit_grouped,
    "conv": emit_conv,
    "map": emit_map,
    "cast": emit_map,
    "relayout": emit_map,
    "pad": emit_pad,
    "pool": emit_pool,
    "reduce": emit_rows,
    "softmax": emit_rows,
    "norm": emit_rows,
}


def emit_stage(stage: Stage, source: Assign | None) -> StageCode:
    """The unit of one stage and how to call it. ``source`` is the stage's syntax, for links from C++ to program lines.

    Raises EmptyTensor, OperationWithoutCode, ElementTypeWithoutCode or FunctionWithoutCode for a stage that the
    checker should have refused.
    """
    if stage.op not in _EMITTERS:
        raise OperationWithoutCode(stage=stage.name, target="host", op=stage.op, legal=", ".join(_EMITTERS))
    for value in (*stage.operands, *stage.results):
        if value.elements == 0:
            raise EmptyTensor(stage=stage.name, value=value.name, shape=list(value.shape))
    return _EMITTERS[stage.op](stage, source)
