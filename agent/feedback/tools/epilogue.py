"""Products whose end (chain, conversion, store) takes as long as their few steps of K."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, host, scaled
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.dsl.ir import Stage

_FEW_STEPS = 8
"""Steps of K a tile below which its epilogue is a large part of it (ours)."""
_LONG_CHAIN = 3


class Epilogue(Tool):
    """Under eight steps of K a tile, or a chain of three links and more behind under sixteen."""

    name = "epilogue"
    title = "Epilogue dominates"
    classes = frozenset({Bottleneck.COMPUTE, Bottleneck.LATENCY, Bottleneck.MIXED, Bottleneck.MEMORY})
    general = "Overlap one tile's epilogue with the next tile's products (a persistent, ping-pong kernel)."

    def trigger(self, case: Case) -> Sight | None:
        """By the knobs, on cards; the host's product works on a tile while it is in registers."""
        if host(case):
            return None
        for stage in case.stages("gemm", "bmm"):
            steps = -(-int(stage.attributes["k"]) // int(stage.knobs["tile"][2]))
            limit = 2 * _FEW_STEPS if len(stage.chain) >= _LONG_CHAIN else _FEW_STEPS
            if steps < limit and not _hidden(stage):
                seen = (f"{steps} steps of K a tile", f"{len(stage.chain)} links in the chain")
                return Sight(seen, stage, None, steps)
        return None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """No time is known for the epilogue alone."""
        return Judgement(
            Severity.WARNING, "A tile is over after a few steps of K, and then its epilogue runs alone."
        )

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Hide it, shorten it, or make it narrower."""
        stage = sight.stage
        assert stage is not None
        yield from case.knob(
            stage, "schedule", [("pingpong",)], "One warp group's epilogue runs beside the other's products."
        )
        smaller = scaled(stage, "tile", (1, 0.5, 1), (0.5, 1, 1))
        yield from case.knob(stage, "tile", smaller, "Smaller tiles overlap better, several to a multiprocessor.")
        if len(stage.chain) >= _LONG_CHAIN and stage.reduction is None:
            yield from case.structure("split", stage, "A long chain in a kernel of its own.")


def _hidden(stage: Stage) -> bool:
    return stage.knobs.get("schedule") == "pingpong"
