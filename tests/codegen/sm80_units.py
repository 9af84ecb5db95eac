"""Units of the sm_80 generator from program texts: the checker fills the knobs that a text leaves out."""

from __future__ import annotations

import re

from kernels.codegen.emission import StageCode
from kernels.codegen.sm80 import emit_stage
from kernels.dsl.check import check
from kernels.dsl.ir import CheckedProgram
from kernels.dsl.parser import parse
from kernels.dtypes import DType
from kernels.problems.inspection import Signature, TensorSpec
from kernels.targets import Policy, Target


def checked(text: str, *shapes: tuple[int, ...], policy: Policy = Policy.HALF) -> CheckedProgram:
    """The program for sm_80; ``shapes`` are those of its parameters, all of them inputs."""
    program = parse(text)
    bound: dict[int | str, int] = {}
    for each, shape in zip(program.parameters, shapes, strict=True):
        bound |= zip(each.type.shape, shape, strict=True)
    inputs = tuple(
        TensorSpec(each.name, DType(each.type.dtype), shape)
        for each, shape in zip(program.parameters, shapes, strict=True)
    )
    result = program.results[0]
    output = TensorSpec("y", DType(result.dtype), tuple(int(bound.get(e, e)) for e in result.shape))
    return check(program, Signature(inputs, (), (output,), {}), Target.SM80, policy)


def codes(text: str, *shapes: tuple[int, ...], policy: Policy = Policy.HALF) -> dict[str, StageCode]:
    """The code of every stage, by the stage's name."""
    made = checked(text, *shapes, policy=policy)
    sources = {assign.target: assign for assign in made.program.stages}
    return {stage.name: emit_stage(stage, sources.get(stage.name)) for stage in made.stages}


def linear(
    knobs: str = "", chain: str = "", m: int = 256, n: int = 384, k: int = 192, dtype: str = "f16", out: str = "",
    policy: Policy = Policy.HALF, form: str = "x, w.T",
) -> StageCode:  # fmt: skip
    """The code of ``gemm(x, w.T)``, or of another ``form`` of x[M, K] and w[N, K] (x[K, M] as x.T, w[K, N] as w)."""
    first = "K, M" if "x.T" in form else "M, K"
    second = "N, K" if "w.T" in form else "K, N"
    text = (
        f"program p(x: {dtype}[{first}], w: {dtype}[{second}], bias: f32[N], col: f32[M, 1], res: f32[M, N],"
        f" half: f16[M, N], one: f32[1], turned: f32[N, M]) -> {out or dtype}[M, N]\n"
        f"  y = gemm({form}){knobs}{chain}\n  return y\n"
    )
    shapes: list[tuple[int, ...]] = [(k, m) if "x.T" in form else (m, k), (n, k) if "w.T" in form else (k, n)]
    shapes += [(n,), (m, 1), (m, n), (m, n), (1,), (n, m)]
    return codes(text, *shapes, policy=policy)["y"]


def sizes(made: StageCode) -> dict[str, int]:
    """The launch's sizes by the parameter names of the generated function."""
    head = made.unit.source[made.unit.source.index('extern "C"') :]
    return dict(zip(re.findall(r"int64_t (\w+)", head[: head.index("{")]), made.sizes, strict=True))
