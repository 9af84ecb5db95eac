"""Orchestrated MANTIS: Measure, Analyze, Nominate, Triage, Implement, Summarize; asks of their own that hand on JSON.

Measure is what the evaluation of the base told. Triage is no ask: hypotheses are ranked by the original's formula
(``agent/triage.py``) on what the model said of them, with the gap from the history. With memory off nothing is
summarized. Iterations, hypotheses and attempts for each are the settings' ``shape``; attempts of the run end it sooner.
"""

from __future__ import annotations

from typing import Any

from agent.controllers import loop
from agent.controllers.base import worth_mending
from agent.controllers.mantis_iteration import Iteration
from agent.history import State
from agent.phases import Phase
from agent.steps import Ask, Finish, FinishReason, History, Step, TrajectorySettings

_SPARE = 2
"""So many more hypotheses are asked for than are implemented, so that there is something to choose from."""


class MantisOrchestrated:
    """Five iterations of two hypotheses with four attempts each, unless the settings say otherwise."""

    name = "mantis-orchestrated"

    def next_step(self, settings: TrajectorySettings, history: History) -> Step:
        """The next step; raises HistoryNotStarted and StepStillOpen."""
        return loop.next_step(settings, history, _next, _last_words)


def _next(state: State) -> Ask | Finish:
    iteration = Iteration.last(state)
    step = _within(iteration)
    if step is not None:
        return step
    if iteration.number >= state.settings.shape.iterations:
        words = f"{iteration.number} of {iteration.number} iterations done, {len(state.attempts)} attempts used"
        return Finish(FinishReason.ATTEMPTS_SPENT, words)
    return _advise(state, Phase.ANALYZE, iteration.number + 1)


def _within(iteration: Iteration) -> Ask | Finish | None:
    """What the iteration still needs; None where it is done."""
    state = iteration.state
    if not iteration.analyzed:
        return _advise_or_give_up(iteration, Phase.ANALYZE)
    if not iteration.nominated:
        return _advise_or_give_up(iteration, Phase.NOMINATE)
    chosen = iteration.triage()
    for place in range(len(chosen)):
        if not iteration.spent(place):
            return _implement(iteration, chosen, place)
    return _summary(iteration) if state.settings.memory else None


def _advise_or_give_up(iteration: Iteration, phase: Phase) -> Ask | Finish:
    """The ask again, until the proposer has failed at it too often or has nothing left."""
    state = iteration.state
    if iteration.exhausted(phase):
        return loop.space_exhausted(state)
    if sum(exchange.ask.number > state.forgiven for exchange in iteration.asked(phase)) >= loop.FAILURES:
        words = f"{loop.FAILURES} answers to {phase.value} that are of no use"
        return Finish(FinishReason.PROPOSER_FAILED, words)
    return _advise(state, phase, iteration.number)


def _advise(state: State, phase: Phase, iteration: int) -> Ask:
    count = state.settings.shape.hypotheses + _SPARE if phase is Phase.NOMINATE else 1
    return Ask(
        number=state.next_ask,
        purpose="advise",
        parent=_best(state),
        count=count,
        payload={"iteration": iteration},
        phase=phase.value,
    )


def _implement(iteration: Iteration, chosen: list[dict[str, Any]], place: int) -> Ask:
    """The next try of a hypothesis: from its last attempt where that is worth mending, else from the best."""
    state = iteration.state
    made = iteration.attempts(place)
    parent = made[-1].number if made and worth_mending(state, made[-1]) else _best(state)
    return Ask(
        number=state.next_ask,
        purpose="expand",
        parent=parent,
        count=1,
        payload={
            "iteration": iteration.number,
            "place": place,
            "hypothesis": chosen[place],
            "try": len(iteration.tries(place)) + 1,
            "triage": chosen,
        },
        phase=Phase.IMPLEMENT.value,
    )


def _summary(iteration: Iteration) -> Ask | None:
    """The summary of an iteration that tried something, asked for once: a lesson is no condition for going on."""
    if iteration.asked(Phase.SUMMARIZE) or not iteration.attempts():
        return None
    return _advise(iteration.state, Phase.SUMMARIZE, iteration.number)


def _last_words(state: State) -> Ask | None:
    """Before a stop rule ends the trajectory, what its last iteration taught."""
    return _summary(Iteration.last(state)) if state.settings.memory and state.attempts else None


def _best(state: State) -> int:
    return 1 if state.best is None else state.best.number
