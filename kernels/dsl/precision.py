"""What the run's policy allows: rules ``precision`` and ``math``.

The policy is about data that the problem has in FP32 (or wider): element types that the problem itself uses are always
allowed. Whether a result is near enough is measured by the harness, not decided here.
"""

from __future__ import annotations

from kernels.dsl.errors import Math, Precision
from kernels.dsl.ir import Stage
from kernels.dsl.maths import PROMOTED, allowed, allowed_words
from kernels.dsl.scope import Scope
from kernels.dsl.stages import Setting
from kernels.dtypes import DType
from kernels.problems.inspection import Signature
from kernels.targets import Policy, Target

_MULTIPLYING = ("gemm", "bmm", "grouped_gemm", "conv")
_HALF = frozenset({DType.F16, DType.BF16})
_NEVER = frozenset({DType.F8E4M3, DType.F8E5M2, DType.I8, DType.U8})
"""No policy goes as low: the steering bound of ``half`` is the rate of 16-bit types."""
_MENDS = {
    Policy.STRICT: "keep f32 ({fast} multiply it on tensor cores), or launch the run with the policy tf32 or half",
    Policy.TF32: "keep f32 ({fast} are allowed), or launch the run with the policy half",
    Policy.HALF: "use f16 or bf16",
}


def check_stage(stage: Stage, setting: Setting, signature: Signature, scope: Scope) -> None:
    """Both rules on one stage."""
    own = {spec.dtype for spec in (*signature.inputs, *signature.parameters, *signature.outputs)}
    _result_types(stage, setting.policy, own, scope)
    if stage.op in _MULTIPLYING and _math_exists(stage, setting, scope):
        _math_allowed(stage, setting.policy, own, scope)


def _refuse(stage: Stage, what: str, found: str, policy: Policy, scope: Scope) -> None:
    place = scope.place(stage, "math", "acc", "out")
    fast = ", ".join(f"math({word})" for word in reversed(allowed_words(policy)) if word != "f32")
    scope.note(Precision(place, what=what, found=found, policy=policy, mend=_MENDS[policy].format(fast=fast)))


def _allowed(dtype: DType, policy: Policy, own: set[DType]) -> bool:
    if dtype in own:
        return True
    return dtype not in _NEVER and (dtype not in _HALF or policy is Policy.HALF)


def _result_types(stage: Stage, policy: Policy, own: set[DType], scope: Scope) -> None:
    """A stage that reads floats and gives a type that is narrower than the policy allows."""
    wide = any(value.dtype in (DType.F32, DType.F64) for value in stage.operands)
    half = any(value.dtype in _HALF for value in stage.operands)
    for result in stage.results:
        if (wide or (half and result.dtype in _NEVER)) and not _allowed(result.dtype, policy, own):
            _refuse(stage, f"{stage.op} of {stage.name}", result.dtype, policy, scope)
            return


def _math_exists(stage: Stage, setting: Setting, scope: Scope) -> bool:
    math, dtype, acc = stage.attributes["math"], stage.operands[0].dtype, stage.attributes["acc"]
    on_host = setting.target is Target.HOST
    why = mend = ""
    # The host, and the plain kernel for convolutions, multiply narrow types as FP32.
    legal = (str(dtype), "f32") if on_host or stage.op == "conv" else (str(dtype),)
    if dtype is not DType.F32 and math not in legal:
        why, mend = f"the operands are {dtype}, which is multiplied as it is", "leave the knob away"
    elif acc is DType.F16 and math != "f16":
        why, mend = "sums in f16 are there for f16 products alone", "write acc(f32)"
    elif stage.knobs.get("acc") == "fast" and math not in PROMOTED:
        why, mend = f"acc(fast) is there for {', '.join(PROMOTED)}; others are summed so anyway", "write acc(f32)"
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
    if not allowed(math, policy) and math not in own:
        _refuse(stage, f"math({math}) of {stage.name}", math, policy, scope)
