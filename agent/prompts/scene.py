"""What the parts of a prompt look at: the history seen from its end, and the ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent.history import Attempt, State
from agent.phases import Phase, phase_of
from agent.steps import Ask, Started, TrajectorySettings
from kernels.languages import Language


@dataclass(frozen=True, slots=True)
class Scene:
    """An ask within its trajectory."""

    state: State
    ask: Ask

    @property
    def settings(self) -> TrajectorySettings:
        """What was chosen at launch."""
        return self.state.settings

    @property
    def started(self) -> Started:
        """The problem."""
        return self.state.started

    @property
    def phase(self) -> Phase:
        """What is asked for."""
        return phase_of(self.ask)

    @property
    def language(self) -> Language:
        """What the model writes in."""
        return self.settings.representation

    @property
    def parent(self) -> Attempt | None:
        """The attempt to start from; None before there is any."""
        return self.state.parent(self.ask)

    @property
    def gap(self) -> float | None:
        """The best time over SOL; None where nothing passed, and with steering off."""
        return self.state.standing.gap if self.settings.steering else None

    def phase_data(self, phase: Phase) -> dict[str, Any] | None:
        """What the last answer of a phase gave within the ask's iteration; None where there is none."""
        iteration = self.ask.payload.get("iteration")
        for exchange in reversed(self.state.exchanges):
            same = exchange.ask.payload.get("iteration") == iteration
            if same and phase_of(exchange.ask) is phase and exchange.answer is not None and exchange.answer.data:
                return exchange.answer.data
        return None
