"""Many registers a thread, where they are what keeps warps out."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, is_product, scaled, uses_tensor_cores
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.record import KernelProfile

_MANY, _CRITICAL = 96, 200
_LOW_PCT = 50.0


class Registers(Tool):
    """Over 96 registers a thread: by the profile where they limit occupancy, else by ptxas off the tensor cores."""

    name = "registers"
    title = "Register pressure"
    general = (
        "Keep fewer values alive: a smaller tile a thread, less unrolling, the tail of the work in its own kernel."
    )

    def trigger(self, case: Case) -> Sight | None:
        """A product on tensor cores holds its sums in registers by design; there only a limit counts."""
        if case.kernels:
            kernel = case.first(_limited)
            if kernel is None:
                return None
            count = kernel.launch.registers or 0.0
            seen = (f"{count:.0f} registers a thread", "registers limit how many blocks fit")
            return Sight(seen, case.stage_of(kernel), kernel, count)
        return _by_ptxas(case)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Graver near the 255 that a thread can have."""
        severity = Severity.WARNING if sight.value < _CRITICAL else Severity.CRITICAL
        return Judgement(severity, f"{sight.value:.0f} registers a thread leave room for few warps.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Fewer sums, cheaper sums, a shorter tail."""
        stage = sight.stage
        if is_product(stage) and stage is not None:
            smaller = scaled(stage, "tile", (1, 0.5, 1), (0.5, 1, 1))
            yield from case.knob(stage, "tile", smaller, "Half the tile, half the accumulators.")
            yield from case.knob(stage, "acc", [("fast",), ("f16",)], "These sums take half the registers.")
            if stage.chain and stage.op in ("gemm", "bmm") and stage.reduction is None:
                yield from case.structure(
                    "split", stage, "A chain in a kernel of its own leaves the product's registers."
                )
        elif stage is not None:
            yield from case.knob(stage, "vector", [(4,), (2,), (1,)], "Fewer elements a thread, fewer registers.")
            yield from case.knob(stage, "threads", [(128,), (256,)], "Smaller blocks fit where large ones do not.")


def _limited(kernel: KernelProfile) -> bool:
    achieved = kernel.occupancy.achieved_pct
    few = achieved is None or achieved < _LOW_PCT
    many = (kernel.launch.registers or 0.0) > _MANY
    fed = uses_tensor_cores(kernel.pipes) and (kernel.pipes.tensor_pct or 0.0) >= _LOW_PCT
    return many and few and not fed and "registers" in kernel.occupancy.limiters


def _by_ptxas(case: Case) -> Sight | None:
    build = case.evidence.build
    best: Sight | None = None
    for unit in build.units if build is not None and case.on_card else ():
        stage = case.stage_of_symbol(unit.symbol)
        if stage is not None and is_product(stage) and stage.knobs.get("math") != "f32":
            continue
        for each in unit.resources:
            if each.registers > max(_MANY, best.value if best is not None else 0):
                seen = (f"{each.registers} registers a thread in {each.kernel} (ptxas)",)
                best = Sight(seen, stage, None, each.registers)
    return best
