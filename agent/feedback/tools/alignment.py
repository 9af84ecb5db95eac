"""Operands whose rows do not begin at 16 bytes: no TMA, no wide loads."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import MOVING, PRODUCTS, ROWS, Case
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.dsl.ir import Value

_VECTOR_BYTES = 16


class Alignment(Tool):
    """A stride (or the offset) of an operand that is no multiple of 16 bytes, on a card."""

    name = "alignment"
    title = "Unaligned rows"
    general = "Pad rows to a multiple of 16 bytes once, and read them in whole vectors."

    def trigger(self, case: Case) -> Sight | None:
        """By the program's layouts."""
        if not case.on_card:
            return None
        for stage in case.stages(*PRODUCTS, *MOVING, *ROWS):
            for value in stage.operands:
                off = _off(value)
                if off:
                    return Sight((f"{value.name}: {off}", f"{stage.name} reads it"), stage)
        return None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """A product then takes a slower kernel, a map narrower loads."""
        product = sight.stage is not None and sight.stage.op in PRODUCTS
        severity = Severity.WARNING if product else Severity.NOTE
        return Judgement(
            severity, "Rows do not begin at multiples of 16 bytes, so loads are narrow and TMA is out."
        )

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Pad, once where it is a parameter."""
        yield from case.structure("pad", sight.stage, "Pad the operand's rows to whole vectors; a parameter once.")


def _off(value: Value) -> str:
    size = value.dtype.bytes
    rows = [
        stride
        for extent, stride in zip(value.shape, value.strides, strict=True)
        if extent > 1 and stride > 1 and stride * size % _VECTOR_BYTES
    ]
    if rows:
        return f"rows {max(rows)} elements of {size} B apart"
    return f"begins at byte {value.offset * size}" if value.offset * size % _VECTOR_BYTES else ""
