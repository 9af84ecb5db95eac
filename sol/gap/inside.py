"""Inside the kernels: the throughput that their counters show against the roof that the bound stands on."""

from __future__ import annotations

from typing import ClassVar

from kernels.profiling.record import KernelProfile
from sol.gap.base import Part
from sol.gap.evidence import Evidence
from sol.gap.idle import Idle
from sol.gap.record import Factor, FactorName
from sol.gap.traffic import Traffic


class Inside(Part):
    """One over the share of the roof that the kernels reach, less what other factors account for already."""

    name: ClassVar[FactorName] = FactorName.INSIDE

    def factor(self, evidence: Evidence) -> Factor:
        """At least 1. Kernels are weighted by their durations under the profiler."""
        if not evidence.on_card:
            return self.unknown(f"a host has no such counters here{_longest_stage(evidence)}")
        profile = evidence.measured_profile
        if profile is None:
            return self.unknown(f"the kernels' throughput is not known: {evidence.why_no_profile}")
        roof = "compute" if evidence.compute_bound else "DRAM"
        reached = [(kernel.duration_s, _share(kernel, evidence)) for kernel in profile.kernels]
        if any(not duration or share is None for duration, share in reached):
            return self.unknown(f"the profile lacks a duration or the share of the {roof} peak")
        total = sum(duration or 0.0 for duration, _ in reached)
        share = sum((duration or 0.0) * (part or 0.0) for duration, part in reached) / total
        if share <= 0:
            return self.unknown(f"the kernels used nothing of the {roof} peak")
        longest = max(profile.kernels, key=lambda kernel: kernel.duration_s or 0.0)
        words = f"{share * 100:.3g} % of the {roof} peak at the clock it ran at"
        if len(profile.kernels) > 1:
            taken, own = (longest.duration_s or 0.0) / total, _share(longest, evidence) or 0.0
            words += f", {own * 100:.3g} % in the longest kernel, which has {taken * 100:.3g} % of the time"
        # The counters are averages over all multiprocessors, idle ones included; arithmetic that waits for bytes
        # beyond the minimum shows in them too.
        told = Idle().factor(evidence).value or 1.0
        if evidence.compute_bound:
            told *= Traffic().factor(evidence).value or 1.0
        return self.known(max(1 / (share * told), 1.0), words, "profile")


def _share(kernel: KernelProfile, evidence: Evidence) -> float | None:
    percent = kernel.speed.compute_pct if evidence.compute_bound else kernel.speed.dram_pct
    return None if percent is None else percent / 100


def _longest_stage(evidence: Evidence) -> str:
    total = sum(stage.seconds for stage in evidence.stages)
    if len(evidence.stages) < 2 or total <= 0:
        return ""
    longest = max(evidence.stages, key=lambda stage: stage.seconds)
    return f"; the longest stage, {longest.stage}, has {longest.seconds / total * 100:.3g} % of the stages' time"
