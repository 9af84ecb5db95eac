"""The tolerance of one problem in one run: the profile's rule at the precision that the run's policy allows."""

from __future__ import annotations

from kernels.dtypes import DType
from kernels.harness.evaluation import Tolerance
from kernels.harness.tolerance import profile
from kernels.problems.inspection import Inspection
from kernels.problems.reduction import longest_reduction
from kernels.targets import Policy, Target


def tolerance_for(name: str, inspection: Inspection, policy: Policy, target: Target) -> Tolerance:
    """The profile ``name`` for this problem's first output.

    Under ``half``, FP32 outputs are held to the error of 16-bit operands; under ``tf32`` on a card the strict profile
    is, since TF32 has the same 11 significant bits as f16. On a CPU, tf32 is plain FP32. Raises UnknownTolerance.
    """
    dtype = inspection.signature.outputs[0].dtype
    lowered = policy is Policy.HALF or (policy is Policy.TF32 and target.is_cuda and name == "strict")
    if lowered and dtype is DType.F32:
        dtype = DType.F16
    return profile(name, dtype, longest_reduction(inspection))
