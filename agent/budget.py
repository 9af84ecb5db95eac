"""When to stop: near the speed of light, no progress, or the attempts are spent.

The first two rules hold only once the best is ahead of the baseline. Cost and token limits are not here: they need
what a model call took, which the driver knows.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.history import Standing
from agent.steps import Finish, FinishReason, TrajectorySettings


@dataclass(frozen=True, slots=True)
class Budget:
    """A stop policy. ``epsilon`` is a fraction of SOL, ``patience`` counts attempts; None: that rule is off."""

    attempts: int
    epsilon: float | None
    patience: int | None

    @classmethod
    def of(cls, settings: TrajectorySettings) -> Budget:
        """The policy a trajectory was launched with."""
        return cls(settings.attempts, settings.epsilon, settings.patience)

    def stop(self, standing: Standing) -> Finish | None:
        """Why to stop here, in words a person reads; None to go on."""
        return self._near_sol(standing) or self._no_progress(standing) or self._spent(standing)

    def _near_sol(self, standing: Standing) -> Finish | None:
        gap = standing.gap
        if self.epsilon is None or gap is None or not standing.ahead or gap > 1 + self.epsilon:
            return None
        return Finish(FinishReason.NEAR_SOL, f"within {100 * self.epsilon:g} % of SOL: {gap:.2f}×")

    def _no_progress(self, standing: Standing) -> Finish | None:
        idle = standing.since_improvement
        if self.patience is None or not standing.ahead or idle < self.patience:
            return None
        return Finish(FinishReason.NO_PROGRESS, f"{_attempts(idle)} without progress")

    def _spent(self, standing: Standing) -> Finish | None:
        if standing.attempts < self.attempts:
            return None
        return Finish(FinishReason.ATTEMPTS_SPENT, f"{standing.attempts} of {_attempts(self.attempts)} used")


def _attempts(count: int) -> str:
    return f"{count} attempt" if count == 1 else f"{count} attempts"
