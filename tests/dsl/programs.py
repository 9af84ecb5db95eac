"""Short ways to say a signature and to check a program against it."""

from __future__ import annotations

import pytest

from kernels.dsl import CheckedProgram, ProgramErrors, check, parse
from kernels.dsl.errors import DslError
from kernels.dsl.simd import AVX512, Simd
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Policy, Target

LINEAR = "program p(x: f32[M, K], w: f32[N, K], b: f32[N]) -> f32[M, N]\n"


def specs(text: str) -> tuple[TensorSpec, ...]:
    """``"x f32 64 128; b f32 128"`` as tensors."""
    parts = [part.split() for part in text.split(";") if part.strip()]
    return tuple(TensorSpec(name, DType(dtype), tuple(map(int, shape))) for name, dtype, *shape in parts)


def signature(inputs: str, parameters: str, outputs: str) -> Signature:
    """A problem's signature, each side in the words of ``specs``."""
    return Signature(specs(inputs), specs(parameters), specs(outputs), {})


def linear(m: int = 512, n: int = 1024, k: int = 256) -> Signature:
    """x[m, k] times w[n, k] transposed, plus b[n], in f32."""
    return linear_of("f32", m, n, k)


def linear_of(dtype: str, m: int = 512, n: int = 1024, k: int = 256) -> Signature:
    """The same in another element type."""
    return signature(f"x {dtype} {m} {k}", f"w {dtype} {n} {k}; b {dtype} {n}", f"out {dtype} {m} {n}")


def checked(
    text: str,
    problem: Signature | None = None,
    target: Target = Target.HOST,
    policy: Policy = Policy.HALF,
    simd: Simd = AVX512,
) -> CheckedProgram:
    """The checked program of ``text``; a text that begins with two spaces is a body for ``linear()``."""
    text = LINEAR + text if not text.startswith("program") else text
    return check(parse(text), problem or linear(), target, policy, simd)


def refusals(
    text: str,
    problem: Signature | None = None,
    target: Target = Target.HOST,
    policy: Policy = Policy.HALF,
    simd: Simd = AVX512,
) -> tuple[DslError, ...]:
    """The errors that ``text`` earns."""
    with pytest.raises(ProgramErrors) as caught:
        checked(text, problem, target, policy, simd)
    return caught.value.errors


def cautions(checked_program: CheckedProgram) -> list[str]:
    """The rules of a program's cautions."""
    return [caution.rule for caution in checked_program.warnings]
