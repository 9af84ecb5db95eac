"""Units that had no work: multiprocessors that a grid does not fill, cores that a program leaves out."""

from __future__ import annotations

import math
from typing import ClassVar

from kernels.profiling.record import KernelProfile
from sol.gap.base import Part
from sol.gap.evidence import Evidence
from sol.gap.record import Factor, FactorName


class Idle(Part):
    """The fullest unit's work over the average unit's: how much longer the call is than with work for all."""

    name: ClassVar[FactorName] = FactorName.IDLE

    def factor(self, evidence: Evidence) -> Factor:
        """At least 1. Blocks of one kernel are taken as equal, so tiles that a block fetches itself are not seen."""
        return self._of_grids(evidence) if evidence.on_card else self._of_threads(evidence)

    def _of_grids(self, evidence: Evidence) -> Factor:
        profile, device = evidence.measured_profile, evidence.device
        if profile is None:
            return self.unknown(f"the grids are not known: {evidence.why_no_profile}")
        sms = int(device.facts.get("sms", "0")) if device is not None else 0
        durations = [kernel.duration_s for kernel in profile.kernels]
        if not sms or any(not kernel.launch.grid for kernel in profile.kernels) or not all(durations):
            return self.unknown(
                "the profile lacks a grid or a duration, or the card's multiprocessors are not known"
            )
        total = sum(each or 0.0 for each in durations)
        filled = sum((k.duration_s or 0.0) / unevenness(blocks(k), sms) for k in profile.kernels)
        longest = max(profile.kernels, key=lambda kernel: kernel.duration_s or 0.0)
        words = f"{blocks(longest):,} blocks on {sms} multiprocessors in the longest kernel"
        if longest.launch.waves is not None:
            words += f", {longest.launch.waves:.3g} waves at its occupancy"
        return self.known(total / filled, words, "profile")

    def _of_threads(self, evidence: Evidence) -> Factor:
        device, asked = evidence.device, evidence.threads
        cores = (
            int(float(device.facts.get("threads") or device.facts.get("cores", "0"))) if device is not None else 0
        )
        if not evidence.compute_bound:
            return self.unknown("memory sets the bound: fewer threads than cores may keep it busy")
        if not cores or not evidence.stages:
            return self.unknown("stages were not timed apart, or the bound's cores are not known")
        given = {stage: threads for stage, threads in asked.items() if threads > 0}
        if not given:
            return self.unknown("no stage says how many threads it takes")
        total = sum(stage.seconds for stage in evidence.stages)
        used = sum(stage.seconds * min(given.get(stage.stage, cores) / cores, 1.0) for stage in evidence.stages)
        if used <= 0:
            return self.unknown("the stages' times add up to nothing")
        told = ", ".join(f"{name} {threads}" for name, threads in given.items())
        words = f"threads by stage: {told}; the bound has {cores}, and other stages count as using them all"
        return self.known(total / used, words, "plan and stage times")


def blocks(kernel: KernelProfile) -> int:
    """Blocks of a launch."""
    return math.prod(kernel.launch.grid)


def unevenness(count: int, units: int) -> float:
    """Blocks of the fullest unit over the average's, where equal blocks are dealt out one by one.

    With more blocks at a time on a unit it is no more uneven than that, so occupancy only adds to what is certain.
    """
    return math.ceil(count / units) * units / count
