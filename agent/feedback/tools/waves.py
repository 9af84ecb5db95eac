"""A last wave of blocks that leaves much of the card idle."""

from __future__ import annotations

import math
from collections.abc import Iterator

from agent.feedback.case import Case, is_product, scaled
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import percent
from kernels.profiling.record import KernelProfile

_FULL, _CRITICAL = 0.8, 0.5
_MOST_WAVES = 4.0


class Waves(Tool):
    """Up to four waves, of whose room less than 80 percent has work (ours)."""

    name = "waves"
    title = "Waves not full"
    classes = frozenset({Bottleneck.COMPUTE, Bottleneck.LATENCY, Bottleneck.MIXED})
    general = (
        "Choose a block size whose number of blocks fills whole waves, or a persistent kernel that shares the rest."
    )

    def trigger(self, case: Case) -> Sight | None:
        """By the profile."""
        kernel = case.first(lambda each: _full(each) < _FULL)
        if kernel is None:
            return None
        waves, full = kernel.launch.waves or 0.0, _full(kernel)
        return Sight((f"{waves:.2f} waves, {percent(full * 100)} full",), case.stage_of(kernel), kernel, full)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """If the work were spread evenly."""
        severity = Severity.CRITICAL if sight.value < _CRITICAL else Severity.WARNING
        share = case.kernel_share(sight.kernel) if sight.kernel is not None else None
        cause = f"The blocks fill {percent(sight.value * 100)} of the waves that they take."
        return Judgement(severity, cause, *case.gain(share, 1 / sight.value))

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Share the last wave out, or cut the work into other pieces."""
        stage = sight.stage
        if is_product(stage) and stage is not None:
            yield from case.knob(stage, "schedule", [("streamk",)], "Stream-K shares the last wave out.")
            yield from case.knob(stage, "split", [(2,), (4,)], "Parts of K make more blocks.")
            smaller = scaled(stage, "tile", (1, 0.5, 1), (0.5, 1, 1))
            yield from case.knob(stage, "tile", smaller, "Smaller tiles fill the last wave better.")
        else:
            yield from case.knob(
                stage, "threads", [(128,), (256,), (64,)], "Smaller blocks fill the last wave better."
            )


def _full(kernel: KernelProfile) -> float:
    """Share of the room in all waves that has work; 1 where it is not known, or there are many waves."""
    waves = kernel.launch.waves
    if waves is None or waves <= 0 or waves >= _MOST_WAVES:
        return 1.0
    return waves / math.ceil(waves)
