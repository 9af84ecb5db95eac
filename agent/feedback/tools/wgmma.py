"""ptxas's own complaint that matrix products wait for each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.feedback.case import Case, scaled
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool

_SERIALISED = re.compile(r"\bC75(10|11)\b|wgmma\S* instructions are serialized", re.IGNORECASE)


class WgmmaSerialised(Tool):
    """The notes C7510 and C7511: wgmma instructions are serialised."""

    name = "wgmma"
    title = "wgmma serialised"
    classes = frozenset({Bottleneck.COMPUTE, Bottleneck.MIXED, Bottleneck.LATENCY})
    general = (
        "Keep accumulators in registers between wgmma_fence and wgmma_wait, call no function that is not inlined "
        "between them, and build with -DNDEBUG."
    )

    def trigger(self, case: Case) -> Sight | None:
        """By the build's warnings."""
        build = case.evidence.build
        for unit in build.units if build is not None else ():
            said = next((line for line in unit.warnings if _SERIALISED.search(line)), None)
            if said is not None:
                return Sight((said[:300],), case.stage_of_symbol(unit.symbol))
        return None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """What it costs differs from kernel to kernel; the report does not say."""
        return Judgement(Severity.CRITICAL, "ptxas runs the products one after another instead of side by side.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """What takes registers or puts calls between the products."""
        stage = sight.stage
        if stage is None:
            return
        smaller = scaled(stage, "tile", (1, 0.5, 1), (0.5, 1, 1))
        yield from case.knob(
            stage, "tile", smaller, "Fewer accumulators leave ptxas room to keep them in registers."
        )
        yield from case.knob(stage, "schedule", [("cooperative",), ("pingpong",)], "Another division of the sums.")
        if stage.chain and stage.op in ("gemm", "bmm") and stage.reduction is None:
            yield from case.structure(
                "split", stage, "A chain in a kernel of its own puts no call between products."
            )
