"""What is at hand about one measured candidate: its bound, its times, its plan, its profile. Records only."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernels.codegen.emission import Emission, Launch
from kernels.harness.evaluation import EAGER, Evaluation, StageShare, Timing
from kernels.profiling.record import Profile, ProfileOutcome
from sol.bounds.record import Bounds, Device


@dataclass(frozen=True, slots=True)
class Evidence:
    """``device`` is the one that the bound was made for; ``emission`` and ``profile`` are the candidate's own.

    ``eager_s`` is torch eager of the same call, ``stages`` are of one instrumented one. Everything but the bound and
    the timing may be missing.
    """

    bounds: Bounds
    timing: Timing
    device: Device | None = None
    stages: tuple[StageShare, ...] = ()
    emission: Emission | None = None
    profile: Profile | None = None
    eager_s: float | None = None

    @classmethod
    def of(
        cls,
        bounds: Bounds | None,
        evaluation: Evaluation | None,
        device: Device | None = None,
        emission: Emission | None = None,
        profile: Profile | None = None,
    ) -> Evidence | None:
        """None where there is no bound above zero or the candidate has no time."""
        if bounds is None or bounds.steering_s <= 0 or evaluation is None or evaluation.candidate is None:
            return None
        eager = evaluation.baseline(EAGER)
        eager_s = eager.median_s if eager is not None else None
        return cls(bounds, evaluation.candidate, device, evaluation.stages, emission, profile, eager_s)

    @property
    def time_s(self) -> float:
        """The candidate's median, seconds a call."""
        return self.timing.median_s

    @property
    def on_card(self) -> bool:
        """Whether it ran on a card."""
        return self.device is not None and self.device.kind == "cuda"

    @property
    def compute_bound(self) -> bool:
        """Whether arithmetic sets the bound."""
        return self.bounds.bound_class == "compute"

    @property
    def measured_profile(self) -> Profile | None:
        """The profile, where it has figures of every launch."""
        found = self.profile
        if (
            found is None
            or found.outcome is not ProfileOutcome.MEASURED
            or found.method is None
            or found.method.cut
        ):
            return None
        return found

    @property
    def why_no_profile(self) -> str:
        """Why ``measured_profile`` is None, in words."""
        if self.profile is None:
            return "no profile was taken"
        if self.profile.outcome is not ProfileOutcome.MEASURED:
            return f"the profile has no figures: {self.profile.detail or self.profile.outcome.value}"
        return "the profile was cut: it does not hold every launch"

    @property
    def threads(self) -> dict[str, int]:
        """Threads that the program asks for, by stage of the host's own; 0: as many as there is work for."""
        if self.emission is None:
            return {}
        counting = {unit.symbol for unit in self.emission.units if _THREADS.search(unit.source)}
        return {
            step.stage: step.sizes[-1]
            for step in self.emission.plan.steps
            if isinstance(step, Launch) and not step.once and step.symbol in counting and step.sizes
        }


_THREADS = re.compile(r"int64_t threads,\s*void\s*\*")
"""A generated unit of the host takes its threads as the last of its sizes."""
