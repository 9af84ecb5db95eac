"""A SYNTHETIC cost model for tests of the search: a pure function from a program's knobs to seconds.

It times nothing and stands for no machine. Its optimum lies away from the defaults, is the same for everyone, and is
written in other terms than the factors by which the search ranks its ideas.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from agent.steps import Candidate, Measured, Started
from kernels.dsl import ProgramErrors, check, parse
from kernels.dsl.ir import Stage
from kernels.harness.evaluation import Outcome

SEED = """program linear_relu(x: f32[M, K], weight: f32[N, K], bias: f32[N]) -> f32[M, N]
  y = gemm(x, weight.T)
  z = map(y + bias)
  out = map(relu(z))
  return out
"""
_BEST_TILE = (192, 256, 512)
_BEST_MICRO = 12 * 32
_FLOPS_S = 1e11
_BYTES_S = 1e10
_LAUNCH_S = 2e-5
BASELINE_S = 12e-3


def stage_seconds(stage: Stage) -> float:
    """The synthetic seconds of one stage."""
    if stage.once:
        return 0.0
    moved = sum(value.elements * value.dtype.bytes for value in (*stage.operands, *stage.results))
    seconds = _LAUNCH_S + moved / _BYTES_S
    if stage.op in ("gemm", "bmm"):
        flops = 2 * stage.attributes["m"] * stage.attributes["n"] * stage.attributes["k"]
        away = sum(
            0.06 * math.log2(now / best) ** 2 for now, best in zip(stage.knobs["tile"], _BEST_TILE, strict=True)
        )
        micro = 0.2 * abs(math.log2(stage.knobs["micro"][0] * stage.knobs["micro"][1] / _BEST_MICRO))
        seconds += flops / _FLOPS_S * (1 + away + micro + (0.0, 0.5, 0.15, 0.0)[stage.knobs["stages"]])
    return seconds


def measure(begin: Started) -> Callable[[int, Candidate], Measured]:
    """A measurement by the synthetic model; a program that does not check is refused, as a build would."""

    def measured(number: int, candidate: Candidate) -> Measured:
        try:
            checked = check(parse(candidate.text), begin.signature, begin.target, begin.policy)
        except ProgramErrors as error:
            return Measured(number, Outcome.REFUSED, str(error), None, None)
        seconds = {stage.name: stage_seconds(stage) for stage in checked.stages if not stage.once}
        return Measured(number, Outcome.PASSED, "", sum(seconds.values()), BASELINE_S, stage_seconds=seconds)

    return measured
