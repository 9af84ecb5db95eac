"""One candidate from the best so far, measure it, again: the loop for a proposer that mends nothing.

``mi`` is the same loop for a model, which goes on from an attempt that failed.
"""

from __future__ import annotations

from agent.controllers import loop
from agent.history import State
from agent.phases import Phase
from agent.steps import Ask, Finish, History, Step, TrajectorySettings


class Flat:
    """One ask is one attempt, always from the best."""

    name = "flat"

    def next_step(self, settings: TrajectorySettings, history: History) -> Step:
        """The next step; raises HistoryNotStarted and StepStillOpen."""
        return loop.next_step(settings, history, _ask_about_best)


def _ask_about_best(state: State) -> Ask | Finish:
    parent = 1 if state.best is None else state.best.number
    if parent in loop.exhausted(state):
        return loop.space_exhausted(state)
    return Ask(number=state.next_ask, purpose="expand", parent=parent, count=1, phase=Phase.ATTEMPT.value)
