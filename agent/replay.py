"""A finished history judged again under another stop policy: where would it have stopped, what would it have lost.

Nothing is run again. The attempts are those that happened, so a policy is judged only up to the last of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.budget import Budget
from agent.history import Standing, standings
from agent.steps import FinishReason, History


@dataclass(frozen=True, slots=True)
class Judgement:
    """What ``budget`` would have done. Times in seconds, None where nothing passed by then.

    ``reason`` is None where the policy would still have been going when the history ended.
    """

    budget: Budget
    stopped_at: int
    attempts: int
    reason: FinishReason | None
    best_s: float | None
    final_best_s: float | None

    @property
    def retention(self) -> float | None:
        """Speedup kept: the last best over the best at the stop, at most 1; None where nothing passed at all."""
        if self.final_best_s is None:
            return None
        return 0.0 if self.best_s is None else self.final_best_s / self.best_s

    @property
    def attempts_saved(self) -> int:
        """Attempts that would not have been made."""
        return self.attempts - self.stopped_at

    @property
    def saving(self) -> float:
        """Attempts saved as a share of those made, 0 to 1."""
        return self.attempts_saved / self.attempts if self.attempts else 0.0

    @property
    def efficiency_gain(self) -> float | None:
        """``efficiency_gain`` with attempts as the cost; None where it is undefined."""
        if self.retention is None or not self.stopped_at:
            return None
        return efficiency_gain(self.retention, self.saving)


def efficiency_gain(retention: float, saving: float) -> float:
    """(g_policy / g_fixed) · (cost_fixed / cost_policy): speedup kept over the share of the cost still paid.

    ``saving`` below 1, else ValueError: a policy that pays nothing has no efficiency.
    """
    if not 0 <= saving < 1:
        raise ValueError("a saving lies in [0, 1)")
    return retention / (1 - saving)


def replay(history: History, budgets: Iterable[Budget]) -> tuple[Judgement, ...]:
    """One judgement a budget, in order; the history is read once. Raises HistoryNotStarted."""
    passed = standings(history)
    return tuple(_judge(passed, budget) for budget in budgets)


def _judge(passed: tuple[Standing, ...], budget: Budget) -> Judgement:
    last = passed[-1]
    stop, reason = last, None
    for standing in passed:
        finish = budget.stop(standing)
        if finish is not None:
            stop, reason = standing, finish.reason
            break
    return Judgement(budget, stop.attempts, last.attempts, reason, stop.best_s, last.best_s)
