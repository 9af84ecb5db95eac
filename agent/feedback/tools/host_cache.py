"""Host: blocks of a product that do not stay in the cache they are meant for."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, host, scaled
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import amount

_L1_BYTES = 48 * 2**10
"""Of today's server cores; 32 KiB of older ones only make the finding rarer."""


class HostCache(Tool):
    """An A block of more than L2, or a panel of B of more than L1."""

    name = "host-cache"
    title = "Blocks out of cache"
    classes = frozenset({Bottleneck.MEMORY, Bottleneck.MIXED, Bottleneck.COMPUTE})
    general = "Block the loops so that what is used again stays in L1, and the larger block in L2."

    def trigger(self, case: Case) -> Sight | None:
        """By the knobs and the core's L2."""
        l2 = case.evidence.l2_bytes
        if not host(case) or not l2:
            return None
        for stage in case.stages("gemm", "bmm"):
            m, _, k = stage.knobs["tile"]
            rows, depth = min(m, int(stage.attributes["m"])), min(k, int(stage.attributes["k"]))
            a, b = (value.dtype.bytes for value in stage.operands[:2])
            block, panel = rows * depth * a, depth * int(stage.knobs["micro"][1]) * b
            if block > l2:
                return Sight(
                    (f"the A block of {rows}x{depth} is {amount(block)}, a core's L2 {amount(l2)}",), stage, None, 2
                )
            if panel > _L1_BYTES:
                return Sight((f"a panel of B is {amount(panel)}, L1 {amount(_L1_BYTES)}",), stage, None, 1)
        return None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Both are read again and again from the next level."""
        level = "L2" if sight.value == 2 else "L1"
        return Judgement(Severity.WARNING, f"A block that is read again and again does not stay in {level}.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """A shallower block, then a lower one."""
        assert sight.stage is not None
        tiles = scaled(sight.stage, "tile", (1, 1, 0.5), (1, 1, 0.25), (0.5, 1, 1), (0.25, 1, 1))
        yield from case.knob(sight.stage, "tile", tiles, "A smaller block stays in its cache.", most=2)
