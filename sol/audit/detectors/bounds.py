"""Times that the machine could not reach with all of the work done."""

from __future__ import annotations

from collections.abc import Iterator

from kernels.harness.evaluation import Evaluation
from sol.audit.base import Detector, Reading
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick
from sol.bounds.record import Bounds
from sol.bounds.units import seconds
from sol.gap.standing import TimeStanding, standing_of


class AgainstBounds(Detector):
    """By the project's one rule of a time's standing, and by the declared precision's own peak.

    Bounds are made under the policy of the run, so that halves that it allows beat nothing. Data that fits into the
    last-level cache may be read faster than memory gives it: below such a floor is noted only.
    """

    name = "bounds"
    looks_at = "bounds"
    tricks = (Trick.PARTIAL_OUTPUT, Trick.LOWER_PRECISION, Trick.CACHE_RESIDENCY)

    def look(self, reading: Reading) -> Iterator[Flag]:
        """Nothing without a time or without bounds."""
        subject = reading.subject
        evaluation, bounds = subject.evaluation, subject.bounds
        if evaluation is None or evaluation.candidate is None or bounds is None:
            return
        time_s = evaluation.candidate.median_s
        standing = standing_of(time_s, bounds.floor_s, bounds.steering_s)
        if standing.held:
            yield self._below_floor(time_s, bounds, standing, subject.cache_bytes)
        elif bounds.policy is subject.policy and _beats_peak(evaluation, bounds):
            words = (
                f"{seconds(time_s)}, and the products alone take {seconds(bounds.compute_s)} at the peak of the "
                f"declared precision ({bounds.policy.value})"
            )
            yield self.flag(
                Trick.LOWER_PRECISION, Severity.SUSPECT, 0.6, words, time_s=time_s, compute_s=bounds.compute_s
            )

    def _below_floor(self, time_s: float, bounds: Bounds, standing: TimeStanding, cache: int | None) -> Flag:
        words = f"{seconds(time_s)}, below the floor of {seconds(bounds.floor_s)} that no honest kernel beats"
        figures = {"time_s": time_s, "floor_s": bounds.floor_s}
        resident = bounds.floor_bytes is not None and cache is not None and bounds.floor_bytes <= cache
        if bounds.bound_class == "memory" and resident:
            words += "; all of its data fits into the cache, which is faster than memory"
            return self.flag(Trick.CACHE_RESIDENCY, Severity.INFO, 0.3, words, **figures)
        words += " (also: side_stream, cache_residency, lower_precision)"
        grave = standing is TimeStanding.SUSPECT
        severity = Severity.SEVERE if grave else Severity.SUSPECT
        return self.flag(Trick.PARTIAL_OUTPUT, severity, 0.8 if grave else 0.5, words, **figures)


def _beats_peak(evaluation: Evaluation, bounds: Bounds) -> bool:
    """Whether all of the reference's products are needed, and took less time than the pipe can."""
    whole = bounds.floor_flops is not None and bounds.floor_flops >= bounds.flops > 0
    return whole and evaluation.candidate is not None and evaluation.candidate.median_s < bounds.compute_s
