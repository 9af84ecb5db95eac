"""Host: a register tile that leaves most vector registers idle. One that does not fit is refused by the checker."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, host
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool

_IDLE = 0.4
"""Accumulators in fewer than this share of the registers: too few products in flight for their latency (ours)."""


class HostRegisters(Tool):
    """Accumulators that fill less than 40 percent of the vector registers, of a product larger than the tile."""

    name = "host-registers"
    title = "Register tile"
    classes = frozenset({Bottleneck.COMPUTE, Bottleneck.MIXED, Bottleneck.LATENCY})
    general = "Hold a tile of sums that fills the vector registers, with room for one row of operands."

    def trigger(self, case: Case) -> Sight | None:
        """By the knobs and the machine's vectors."""
        if not host(case):
            return None
        for stage in case.stages("gemm", "bmm"):
            rows, columns = stage.knobs["micro"]
            taken = rows * -(-columns // case.simd.lanes)
            larger = stage.attributes["m"] > rows or stage.attributes["n"] > columns
            if larger and taken < _IDLE * case.simd.registers:
                seen = f"{rows}x{columns} sums take {taken} of {case.simd.registers} vector registers"
                return Sight((seen,), stage)
        return None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """What it costs depends on the CPU's latencies, which are not known here."""
        return Judgement(
            Severity.WARNING, "Few sums are under way at once: multipliers wait for their own results."
        )

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Tiles that fill the registers, this machine's own first."""
        lanes, (rows, columns) = case.simd.lanes, case.simd.micro
        shapes = [(rows, columns), (8, 2 * lanes), (6, 2 * lanes), (4, 2 * lanes), (12, lanes)]
        yield from case.knob(sight.stage, "micro", shapes, "A tile that fills the registers and no more.", most=2)
