"""The stages that every card runs alike: which generator of this folder serves which op.

What goes to the tensor cores is each target's own: ``sm90a.stage`` and ``sm80.stage`` ask here for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernels.codegen.cuda.conv_simt import emit_conv_simt
from kernels.codegen.cuda.elementwise import emit_elementwise
from kernels.codegen.cuda.pad import emit_pad
from kernels.codegen.cuda.pool import emit_pool
from kernels.codegen.cuda.rows import emit_rows
from kernels.codegen.cuda.simt import emit_simt
from kernels.codegen.emission import StageCode
from kernels.codegen.errors import EmptyTensor, OperationWithoutCode
from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign
from kernels.dtypes import DType
from kernels.targets import Target

Emitter = Callable[[Stage, Assign | None], StageCode]

COMMON: dict[str, Emitter] = {
    "map": emit_elementwise,
    "cast": emit_elementwise,
    "relayout": emit_elementwise,
    "pad": emit_pad,
    "pool": emit_pool,
    "reduce": emit_rows,
    "softmax": emit_rows,
    "norm": emit_rows,
}
"""By op. A target's own table goes before it."""


def emit_stage(stage: Stage, source: Assign | None, target: Target, own: Mapping[str, Emitter]) -> StageCode:
    """The unit and the call of one stage that is not torch's: by ``own``, else as on every card.

    A product of FP32 data in full FP32, or a convolution so, needs no tensor core, and is every card's. Raises
    EmptyTensor, and OperationWithoutCode for an op that neither table has.
    """
    for value in (*stage.operands, *stage.results):
        if value.elements == 0:
            raise EmptyTensor(stage=stage.name, value=value.name, shape=list(value.shape))
    plain = stage.op in ("gemm", "bmm") and _plain(stage)
    if stage.reduction is not None and (plain or target is not Target.SM90A):
        # Its generator would write the product, and no reduction.
        raise OperationWithoutCode(
            stage=stage.name, target=target, op=stage.reduction.text, legal="the stage reduce"
        )
    if plain:
        return emit_simt(stage, source)
    if stage.op == "conv" and stage.attributes["math"] == "f32":
        return emit_conv_simt(stage, source)
    emitter = own.get(stage.op) or COMMON.get(stage.op)
    if emitter is None:
        legal = ", ".join(dict.fromkeys((*COMMON, *own)))
        raise OperationWithoutCode(stage=stage.name, target=target, op=stage.op, legal=legal)
    return emitter(stage, source)


def _plain(stage: Stage) -> bool:
    full = stage.attributes.get("math", stage.knobs["math"]) == "f32"
    return full and all(value.dtype is DType.F32 for value in stage.operands[:2])
