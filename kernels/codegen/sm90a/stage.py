"""Chooses the generator of a stage: tensor cores, plain FP32 products, an elementwise kernel, or one by rows."""

from __future__ import annotations

from kernels.codegen.cuda.elementwise import emit_elementwise
from kernels.codegen.cuda.rows import emit_rows
from kernels.codegen.cuda.simt import emit_simt
from kernels.codegen.emission import StageCode
from kernels.codegen.errors import EmptyTensor, OperationWithoutCode
from kernels.codegen.sm90a.gemm import emit_gemm
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType
from kernels.targets import Target


def emit_stage(stage: Stage, source: Assign | None) -> StageCode:
    """The unit and the call of one map, cast, gemm, bmm, reduce, softmax or norm stage.

    ``source`` is the stage's syntax tree, for the lines that knobs and operands stand on. Raises the errors of
    ``codegen.errors`` and ``sm90a.errors`` for what this target has no code for.
    """
    for value in (*stage.operands, *stage.results):
        if value.elements == 0:
            raise EmptyTensor(stage=stage.name, value=value.name, shape=list(value.shape))
    if stage.op in ("map", "cast"):
        return emit_elementwise(stage, source)
    if stage.op in ("reduce", "softmax", "norm"):
        return emit_rows(stage, source)
    if stage.op in ("gemm", "bmm"):
        full = stage.attributes.get("math", stage.knobs["math"]) == "f32"
        if full and all(value.dtype is DType.F32 for value in stage.operands[:2]):
            return emit_simt(stage, source)
        return emit_gemm(stage, source)
    legal = "map, cast, gemm, bmm, reduce, softmax, norm"
    raise OperationWithoutCode(stage=stage.name, target=Target.SM90A, op=stage.op, legal=legal)
