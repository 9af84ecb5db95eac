"""Time of a call that lies outside of its kernels: launches, gaps between them, the host in between.

On a card by its own record of kernels, on a host by the stages of one instrumented call.
"""

from __future__ import annotations

from typing import ClassVar

from kernels.harness.measures import Activity
from sol.bounds.units import seconds
from sol.gap.base import Part
from sol.gap.evidence import Evidence
from sol.gap.record import Factor, FactorName

SLOWER = 1.1
"""Instrumented calls that take longer than timed ones by more than this tell nothing about what lies outside."""


class Launches(Part):
    """The call's time over the time in which a kernel or a stage was at work."""

    name: ClassVar[FactorName] = FactorName.LAUNCHES

    def factor(self, evidence: Evidence) -> Factor:
        """At least 1; exactly 1 where the kernels were seen to fill the call."""
        activity = evidence.timing.activity
        if activity is not None:
            return self._of_kernels(evidence, activity)
        if evidence.on_card:
            return self.unknown(
                evidence.timing.missing.get("activity") or "the card's record of kernels is missing"
            )
        return self._of_stages(evidence)

    def _of_kernels(self, evidence: Evidence, activity: Activity) -> Factor:
        # Kernels side by side add up to more than the span they fill.
        busy, call = min(activity.sum_s, activity.span_s), evidence.time_s
        if busy <= 0:
            return self.unknown("the card's record holds no time in kernels")
        if busy > call * SLOWER:
            both = f"{seconds(busy)} in kernels, {seconds(call)} a call"
            return self.unknown(f"the recorded calls were slower than the timed ones: {both}")
        words = f"{seconds(busy)} of {seconds(call)} in {_count(activity)}"
        words += f"{_planned(evidence)}; {seconds(max(activity.span_s - activity.sum_s, 0.0))} between them"
        return self.known(max(call / busy, 1.0), words, "kernel activity")

    def _of_stages(self, evidence: Evidence) -> Factor:
        # One instrumented call stands beside many timed ones: against the fastest of them the factor is a least one.
        total = sum(stage.seconds for stage in evidence.stages)
        call, fastest = evidence.time_s, evidence.timing.minimum_s
        if total <= 0:
            return self.unknown("stages were not timed apart")
        both = f"{seconds(total)} in {_stages(len(evidence.stages))}"
        if total > call * SLOWER:
            return self.unknown(f"timing stages apart made the call slower: {both}, {seconds(call)} a call")
        words = f"{both} of one call; the fastest timed call took {seconds(fastest)}"
        return self.known(max(fastest / total, 1.0), words, "stage times")


def _count(activity: Activity) -> str:
    copies = sum(kernel.launches for kernel in activity.kernels if kernel.kind != "kernel")
    words = f"{activity.launches:.4g} kernel{'' if activity.launches == 1 else 's'}"
    return f"{words} and {copies:.4g} copies or fills" if copies else words


def _planned(evidence: Evidence) -> str:
    """How many launches the plan itself has, where there is one."""
    if evidence.emission is None:
        return ""
    return f" for {_stages(sum(not step.once for step in evidence.emission.plan.steps))} of the plan"


def _stages(count: int) -> str:
    return f"{count} stage" if count == 1 else f"{count} stages"
