"""Host: operands read in place though they lie badly, or packed though they are used once."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, host
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool

_REUSE = 32
"""Times that a packed element must be used to pay for its packing (ours)."""


class HostPacking(Tool):
    """``stages(1)`` where operands are read across their rows, or ``stages(3)`` where packed ones are hardly used."""

    name = "host-packing"
    title = "Packing of operands"
    classes = frozenset({Bottleneck.MEMORY, Bottleneck.MIXED, Bottleneck.COMPUTE})
    general = "Copy a block into the order in which it is read, where it is read often enough to pay for that."

    def trigger(self, case: Case) -> Sight | None:
        """By the knobs, the layouts and the extents."""
        if not host(case):
            return None
        for stage in case.stages("gemm", "bmm"):
            packed, n, m = int(stage.knobs["stages"]), int(stage.attributes["n"]), int(stage.attributes["m"])
            if packed == 1 and stage.operands[1].strides[-1] != 1 and m > _REUSE:
                return Sight((f"B is read in place and across its rows, {m} times",), stage, None, 3)
            if packed == 3 and n < _REUSE:
                return Sight((f"A is packed to be used for {n} columns",), stage, None, 2)
            if packed > 1 and m < _REUSE // 4:
                return Sight((f"B is packed to be used for {m} rows",), stage, None, 1)
        return None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Copies that pay, or do not."""
        if sight.value == 3:
            return Judgement(Severity.WARNING, "The inner loop reads an operand with large strides.")
        return Judgement(
            Severity.WARNING, "A block is copied before it is read, and read too rarely to pay for that."
        )

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """The number that the sight names, then its neighbours."""
        stages = {3: [(3,), (2,)], 2: [(2,), (1,)], 1: [(1,)]}[int(sight.value)]
        words = "Packed, it streams in order." if sight.value == 3 else "Read it where it lies."
        yield from case.knob(sight.stage, "stages", stages, words)
