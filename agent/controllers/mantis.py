"""MANTIS in one prompt: the loop of ``mi``, with the whole workflow written into each attempt's prompt."""

from __future__ import annotations

from agent.controllers import loop
from agent.controllers.mi import one_program
from agent.history import State
from agent.phases import Phase
from agent.steps import Ask, Finish, History, Step, TrajectorySettings


class MantisInPrompt:
    """Measure, analyze, nominate, triage, implement and summarize are one answer."""

    name = "mantis"

    def next_step(self, settings: TrajectorySettings, history: History) -> Step:
        """The next step; raises HistoryNotStarted and StepStillOpen."""
        return loop.next_step(settings, history, _ask)


def _ask(state: State) -> Ask | Finish:
    return one_program(state, Phase.MANTIS)
