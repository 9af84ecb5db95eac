"""A product whose tensor cores wait."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, is_product, scaled, uses_tensor_cores
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import percent
from kernels.profiling.record import KernelProfile

_IDLE_PCT, _CRITICAL_PCT = 50.0, 25.0


class TensorIdle(Tool):
    """The tensor pipe busy in under half of the cycles (ours) of a product that uses it."""

    name = "tensor-idle"
    title = "Idle tensor cores"
    classes = frozenset({Bottleneck.COMPUTE, Bottleneck.MIXED, Bottleneck.LATENCY})
    general = "Feed the tensor cores: larger tiles, more stages in flight, loads by TMA or cp.async well ahead."

    def trigger(self, case: Case) -> Sight | None:
        """By the profile; a product on the CUDA cores is the precision tool's."""
        kernel = case.first(_idle)
        if kernel is None:
            return None
        busy = kernel.pipes.tensor_pct or 0.0
        stage = case.stage_of(kernel)
        if stage is not None and not is_product(stage):
            return None
        return Sight((f"tensor pipe busy in {percent(busy)} of the cycles",), stage, kernel, busy)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """A pipe that never idles is the most that feeding it better can give."""
        severity = Severity.CRITICAL if sight.value < _CRITICAL_PCT else Severity.WARNING
        cause = (
            "Products come more slowly than the tensor cores take them: operands arrive late, or tiles are small."
        )
        share = case.kernel_share(sight.kernel) if sight.kernel is not None else None
        return Judgement(severity, cause, *case.gain(share, 100 / max(sight.value, 1.0)))

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """More products for each byte, more bytes in flight, other schedules."""
        stage = sight.stage
        if stage is None:
            return
        larger = [(128, 256, 64), (256, 128, 64), (128, 128, 64), *scaled(stage, "tile", (1, 2, 1), (2, 1, 1))]
        yield from case.knob(stage, "tile", larger, "A larger tile multiplies more for each byte loaded.")
        yield from case.knob(stage, "stages", [(4,), (5,), (6,), (3,)], "More tiles of K in flight.")
        yield from case.knob(
            stage, "schedule", [("cooperative",), ("pingpong",)], "The other schedule of warp groups."
        )
        yield from case.knob(stage, "cluster", [(2, 1), (1, 2)], "Blocks of a cluster load an operand together.")


def _idle(kernel: KernelProfile) -> bool:
    busy = kernel.pipes.tensor_pct
    return busy is not None and uses_tensor_cores(kernel.pipes) and busy < _IDLE_PCT
