"""DRAM at its roof: nothing but fewer bytes makes this kernel faster."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, is_product
from agent.feedback.record import Advice, Bottleneck, Severity
from agent.feedback.tools.fusable import fusable
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.dtypes import DType
from kernels.profiling.digest import amount, percent
from kernels.targets import Policy

_ROOF_PCT = 80.0


class Dram(Tool):
    """DRAM busier than 80 percent of its peak."""

    name = "dram"
    title = "DRAM at its roof"
    classes = frozenset({Bottleneck.MEMORY, Bottleneck.MIXED})
    general = (
        "Move fewer bytes: fuse with the kernel before or after, keep narrower types, do not read anything twice."
    )

    def trigger(self, case: Case) -> Sight | None:
        """By the profile."""
        kernel = case.first(lambda each: (each.speed.dram_pct or 0.0) > _ROOF_PCT)
        if kernel is None:
            return None
        seen = [f"DRAM at {percent(kernel.speed.dram_pct or 0.0)} of its peak"]
        read, written = kernel.memory.dram_read_bytes, kernel.memory.dram_write_bytes
        if read is not None and written is not None:
            seen.append(f"{amount(read)} read, {amount(written)} written")
        return Sight(tuple(seen), case.stage_of(kernel), kernel)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """It is no fault: the kernel is as fast as its bytes allow."""
        return Judgement(
            Severity.WARNING, "The memory itself is the limit: only fewer bytes make this kernel faster."
        )

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Fuse, then narrower types where the policy has them."""
        for consumer, _ in fusable(case):
            yield from case.structure("fuse", consumer, "Its operand would not be written and read back.")
        product = sight.stage if is_product(sight.stage) else None
        if case.evidence.policy is Policy.HALF and product is not None and product.operands[0].dtype is DType.F32:
            yield from case.structure("cast", product, "The policy allows operands of half the bytes.")
