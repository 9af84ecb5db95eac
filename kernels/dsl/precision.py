"""What the run's policy allows: rules ``precision`` and ``math``.

The policy is about data that the problem has in FP32 (or wider): element types that the problem itself uses are always
allowed. Whether a result is near enough is measured by the harness, not decided here.
"""

from __future__ import annotations

from kernels.dsl.errors import Math, Precision
from kernels.dsl.ir import Stage
from kernels.dsl.scope import Scope
from kernels.dsl.stages import Setting
from kernels.dtypes import DType
from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target

_HALF = frozenset({DType.F16, DType.BF16})
_NEVER = frozenset({DType.F8E4M3, DType.F8E5M2, DType.I8, DType.U8})
_MENDS = {
    Policy.STRICT: "keep f32, or launch the run with the policy tf32 or half",
    Policy.TF32: "keep f32 (math(tf32) is allowed), or launch the run with the policy half",
    Policy.HALF: "use f16 or bf16",
}


def check_stage(stage: Stage, setting: Setting, signature: Signature, scope: Scope) -> None:
    """Both rules on one stage."""
    own = {spec.dtype for spec in (*signature.inputs, *signature.parameters, *signature.outputs)}
    _result_types(stage, setting.policy, own, scope)
    if stage.op in ("gemm", "bmm") and _math_exists(stage, setting, scope):
        _math_allowed(stage, setting.policy, own, scope)


def _refuse(stage: Stage, what: str, found: str, policy: Policy, scope: Scope) -> None:
    place = scope.place(stage, "math", "acc", "out")
    scope.note(Precision(place, what=what, found=found, policy=policy, mend=_MENDS[policy]))


def _allowed(dtype: DType, policy: Policy, own: set[DType]) -> bool:
    if dtype in own:
        return True
    return dtype not in _NEVER and (dtype not in _HALF or policy is Policy.HALF)


def _result_types(stage: Stage, policy: Policy, own: set[DType], scope: Scope) -> None:
    """A stage that reads f32 or f64 and gives a narrower type."""
    wide = any(value.dtype in (DType.F32, DType.F64) for value in stage.operands)
    for result in stage.results:
        if wide and not _allowed(result.dtype, policy, own):
            _refuse(stage, f"{stage.op} of {stage.name}", result.dtype, policy, scope)
            return


def _math_exists(stage: Stage, setting: Setting, scope: Scope) -> bool:
    math, dtype, acc = stage.attributes["math"], stage.operands[0].dtype, stage.attributes["acc"]
    on_host = setting.target is Target.HOST
    why = mend = ""
    if dtype is not DType.F32 and math not in ((str(dtype), "f32") if on_host else (str(dtype),)):
        why, mend = f"the operands are {dtype}, which is multiplied as it is", "leave the knob away"
    elif acc is DType.F16 and math != "f16":
        why, mend = "sums in f16 are there for f16 products alone", "write acc(f32)"
    if why:
        scope.note(Math(scope.place(stage, "math", "acc"), found=math, why=why, mend=mend))
    elif on_host and dtype is DType.F32 and math != "f32":
        message = f"math({math}) rounds both operands to {math} and multiplies them as f32: it saves no time here"
        scope.caution("math", message, scope.place(stage, "math"))
    return not why


def _math_allowed(stage: Stage, policy: Policy, own: set[DType], scope: Scope) -> None:
    math = stage.attributes["math"]
    if stage.attributes["acc"] is DType.F16 and policy is not Policy.HALF:
        _refuse(stage, f"acc(f16) of {stage.name}", "f16 sums", policy, scope)
    if stage.operands[0].dtype is not DType.F32:
        return
    if math == "tf32" and policy is Policy.STRICT:
        _refuse(stage, f"math(tf32) of {stage.name}", "tf32", policy, scope)
    elif math in ("f16", "bf16") and not _allowed(DType(math), policy, own):
        _refuse(stage, f"math({math}) of {stage.name}", math, policy, scope)
