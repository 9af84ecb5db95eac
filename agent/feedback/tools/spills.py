"""Registers that went to local memory: every use of them is a load."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, is_product, scaled, stall_share
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.dsl.ir import Stage
from kernels.profiling.digest import amount, percent
from kernels.profiling.record import KernelProfile

_AGREES = 0.2
"""From this share of a warp's time on, waiting for memory agrees that the spills cost (ours)."""


class Spills(Tool):
    """Local loads or stores, by ptxas, SASS or counters; where there is a profile, its stalls must agree."""

    name = "spills"
    title = "Register spills"
    general = "Hold fewer values: smaller register tiles, less unrolling, arrays indexed by constants alone."

    def trigger(self, case: Case) -> Sight | None:
        """ptxas and SASS say that there are some, the profile whether warps wait for them."""
        seen, stage = _compiled(case)
        if not case.kernels:
            return Sight(seen, stage) if seen else None
        kernel = case.first(lambda each: _local(each) > 0)
        if kernel is None or _waiting(kernel) < _AGREES:
            return None
        waits = f"{percent(_waiting(kernel) * 100)} of a warp's time waits for memory"
        figures = (*seen, f"{amount(_local(kernel))} through local memory", waits)
        return Sight(figures, case.stage_of(kernel) or stage, kernel, _waiting(kernel))

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Certain where counters agree."""
        if sight.kernel is None:
            return Judgement(
                Severity.WARNING, "The compiler put registers into local memory; no profile says yet what it costs."
            )
        return Judgement(Severity.CRITICAL, "Registers were spilled to local memory, and warps wait for it.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Fewer sums a thread, cheaper sums, no long tail."""
        stage = sight.stage
        if stage is None:
            return
        if is_product(stage):
            smaller = scaled(stage, "tile", (1, 0.5, 1), (0.5, 1, 1))
            yield from case.knob(
                stage, "schedule", [("cooperative",)], "Two warp groups hold half of the sums each."
            )
            yield from case.knob(stage, "tile", smaller, "Half the tile, half the accumulators.")
            yield from case.knob(stage, "acc", [("fast",), ("f16",)], "These sums take half the registers.")
            if stage.chain and stage.op in ("gemm", "bmm") and stage.reduction is None:
                yield from case.structure(
                    "split", stage, "The chain in a kernel of its own leaves these registers."
                )
        else:
            yield from case.knob(stage, "vector", [(4,), (2,), (1,)], "Fewer elements a thread, fewer registers.")


def _compiled(case: Case) -> tuple[tuple[str, ...], Stage | None]:
    seen: list[str] = []
    stage: Stage | None = None
    build, sass = case.evidence.build, case.evidence.sass
    for unit in build.units if build is not None and case.on_card else ():
        for each in unit.resources:
            if each.spill_loads or each.spill_stores:
                stage = stage or case.stage_of_symbol(unit.symbol)
                seen.append(f"{each.spill_stores} B stored and {each.spill_loads} B loaded a thread (ptxas)")
    if sass is not None and sass.local_loads + sass.local_stores:
        seen.append(f"{sass.local_loads} local loads and {sass.local_stores} local stores in SASS")
    return tuple(seen[:3]), stage


def _local(kernel: KernelProfile) -> float:
    return (kernel.memory.local_load_bytes or 0.0) + (kernel.memory.local_store_bytes or 0.0)


def _waiting(kernel: KernelProfile) -> float:
    return stall_share(kernel, "long_scoreboard", "lg_throttle", "drain") or 0.0
