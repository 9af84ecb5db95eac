"""Threads of a warp that want different words of one shared memory bank."""

from __future__ import annotations

from collections.abc import Iterator

from agent.feedback.case import Case, is_product, scaled
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.tool import Judgement, Sight, Tool
from kernels.profiling.digest import percent
from kernels.profiling.record import KernelProfile

_SHARE, _CRITICAL = 0.1, 0.5


class BankConflicts(Tool):
    """Conflicts are over a tenth of the wavefronts (ours)."""

    name = "bank-conflicts"
    title = "Bank conflicts"
    general = "Swizzle or pad the shared tile so that a warp's threads meet different banks."

    def trigger(self, case: Case) -> Sight | None:
        """By the profile."""
        kernel = case.first(lambda each: _conflicts(each) > _SHARE)
        if kernel is None:
            return None
        share = _conflicts(kernel)
        seen = f"conflicts are {percent(share * 100)} of the shared memory's wavefronts"
        return Sight((seen,), case.stage_of(kernel), kernel, share)

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Graver where half of the accesses are repeated."""
        severity = Severity.CRITICAL if sight.value >= _CRITICAL else Severity.WARNING
        return Judgement(severity, "Accesses to shared memory are repeated because threads meet in a bank.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Other shapes of the shared tile."""
        stage = sight.stage
        if is_product(stage) and stage is not None:
            yield from case.knob(stage, "warps", [(2, 2), (1, 4), (4, 1)], "Other parts of the tile to each warp.")
            other = scaled(stage, "tile", (1, 1, 2), (1, 1, 0.5), (1, 0.5, 1))
            yield from case.knob(stage, "tile", other, "Another width of the shared tile meets other banks.")
        else:
            yield from case.knob(
                stage, "vector", [(4,), (2,), (1,)], "Another step between threads meets other banks."
            )


def _conflicts(kernel: KernelProfile) -> float:
    conflicts, wavefronts = kernel.memory.bank_conflicts, kernel.memory.shared_wavefronts
    return conflicts / wavefronts if conflicts and wavefronts else 0.0
