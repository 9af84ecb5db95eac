"""Products in a wider type than the run allows, or on the CUDA cores where tensor cores keep FP32's error class."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import PRODUCTS, Case
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.dsl.ir import Stage
from kernels.dtypes import DType
from kernels.targets import Policy

_CHEAPER = {
    Policy.STRICT: ("bf16x6", "tf32x3"),
    Policy.TF32: ("tf32", "bf16x3", "bf16x6", "tf32x3"),
    Policy.HALF: ("bf16", "f16", "tf32"),
}
"""By policy, what its error class allows, the cheapest first."""
_COST = {"bf16": 1.0, "f16": 1.0, "tf32": 2.0, "bf16x3": 3.0, "bf16x6": 6.0, "tf32x3": 6.0, "f32": 16.0}
"""Time of a product beside bf16's by the cards' dense rates; an order of preference, never a gain that is shown."""


class Precision(Tool):
    """A product of FP32 data at a dearer ``math`` than the policy asks for."""

    name = "precision"
    title = "Precision to spare"
    classes = frozenset({Bottleneck.COMPUTE, Bottleneck.MIXED})
    general = "Multiply at the lowest precision that the run allows, on tensor cores, and keep the sums in FP32."

    def trigger(self, case: Case) -> Sight | None:
        """By the knobs; on the host only half types, which its compiler has to widen, differ."""
        for stage in case.stages(*PRODUCTS):
            if stage.operands[0].dtype is DType.F32 and _cheaper(case, stage):
                now = str(stage.knobs.get("math", "f32"))
                return Sight((f"{stage.name} multiplies at {now}", f"policy {case.evidence.policy}"), stage)
        return None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Whether it pays is the machine's affair, so no number."""
        cause = f"{sight.evidence[0]}, and the {case.evidence.policy} policy allows a cheaper way."
        severity = Severity.CRITICAL if case.on_card else Severity.NOTE
        return Judgement(severity, cause)

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Each cheaper way that this stage can take."""
        assert sight.stage is not None
        yield from _cheaper(case, sight.stage)


def _cheaper(case: Case, stage: Stage) -> list[Advice]:
    now = str(stage.knobs.get("math", "f32"))
    ways = [way for way in _CHEAPER[case.evidence.policy] if _COST[way] < _COST.get(now, 0.0)]
    if not case.on_card and case.evidence.policy is not Policy.HALF:
        return []
    words = "Tensor cores take it at a multiple of the rate." if case.on_card else "Half the bytes of each operand."
    return case.knob(stage, "math", [(way,) for way in ways], words, most=2)
