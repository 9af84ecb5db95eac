"""Measure and implement (MI): generate, build, test, measure, over and over; one pass is one attempt."""

from __future__ import annotations

from agent.controllers import loop
from agent.controllers.base import base
from agent.history import State
from agent.phases import Phase
from agent.steps import Ask, Finish, History, Step, TrajectorySettings


class MeasureImplement:
    """The original's flat loop, for a model: it mends what failed and otherwise goes on from the best."""

    name = "mi"

    def next_step(self, settings: TrajectorySettings, history: History) -> Step:
        """The next step; raises HistoryNotStarted and StepStillOpen."""
        return loop.next_step(settings, history, _ask)


def _ask(state: State) -> Ask | Finish:
    return one_program(state, Phase.ATTEMPT)


def one_program(state: State, phase: Phase) -> Ask | Finish:
    """The ask for one program by the prompt of ``phase``."""
    parent = base(state)
    if parent is None:
        return loop.space_exhausted(state)
    return Ask(number=state.next_ask, purpose="expand", parent=parent, count=1, phase=phase.value)
