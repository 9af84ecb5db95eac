"""What every controller does alike: stop by budget, begin with a program, then try one answer at a time.

The first program is the translated one, or a person's; a run that writes in another representation asks for it.

A controller only chooses whom to ask about. Nothing is kept between calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from agent.budget import Budget
from agent.errors import StepStillOpen
from agent.history import EXHAUSTED, SPENT, State
from agent.phases import Phase
from agent.steps import Ask, Candidate, Evaluate, Finish, FinishReason, History, Step, TrajectorySettings
from kernels.languages import Language

FAILURES = 3
"""So many answers in a row without a new candidate, and the proposer is given up."""

Choose: TypeAlias = Callable[[State], Ask | Finish]
Closing: TypeAlias = Callable[[State], Ask | None]


def next_step(
    settings: TrajectorySettings, history: History, choose: Choose, closing: Closing | None = None
) -> Step:
    """The next step, with ``choose`` called where a new ask is due, and ``closing``, if there is one, for a last ask
    before a stop rule ends the trajectory.

    Raises HistoryNotStarted, and StepStillOpen where an ask or an attempt is under way.
    """
    state = State.of(settings, history)
    if state.finished is not None:
        return Finish(state.finished.reason, state.finished.words)
    if state.open_step is not None:
        raise StepStillOpen(open_step=state.open_step)
    stop = Budget.of(state.settings).stop(state.standing)
    if stop is not None:
        return (closing(state) if closing is not None else None) or stop
    if not state.attempts and _has_program(state):
        return Evaluate(1, translated(state))
    if state.pending:
        return Evaluate(state.next_number, state.pending[0])
    end = _unchangeable(state) or _spent(state) or _given_up(state)
    return end or (choose(state) if state.attempts else _seed(state))


def translated(state: State) -> Candidate:
    """The translated program, which every trajectory tries first; the one a person gave, where one did."""
    if state.started.seed_given:
        return Candidate(
            text=state.started.seed_program,
            parent=None,
            change="program as given",
            hypothesis="",
            language=state.started.seed_language,
        )
    return Candidate(
        text=state.started.seed_program,
        parent=None,
        change="translated program",
        hypothesis="The problem as written, stage by stage: what every change is measured against.",
    )


def exhausted(state: State) -> frozenset[int]:
    """Attempts from which the proposer said that nothing new can be made."""
    return frozenset(
        exchange.ask.parent or 1
        for exchange in state.exchanges
        if exchange.answer is not None and exchange.answer.error == EXHAUSTED
    )


def space_exhausted(state: State) -> Finish:
    """The finish for a proposer that has nothing new left."""
    return Finish(FinishReason.SPACE_EXHAUSTED, f"{EXHAUSTED} after {len(state.attempts)} attempts")


def _has_program(state: State) -> bool:
    """Whether there is a program to begin with: a person's, or the translated one where the run writes μCUTLASS."""
    return state.started.seed_given or state.settings.representation is Language.MU


def _seed(state: State) -> Ask | Finish:
    """The ask for a first program."""
    if state.exchanges and exhausted(state):
        return space_exhausted(state)
    return Ask(number=state.next_ask, purpose="seed", parent=None, count=1, phase=Phase.SEED.value)


def _unchangeable(state: State) -> Finish | None:
    """The finish after a person's program in another language than the run's proposer writes."""
    language, written = state.started.seed_language, state.settings.representation
    if not state.started.seed_given or language is written:
        return None
    words = f"a program in {language.label} is measured as it was given: proposers change {written.label} alone"
    return Finish(FinishReason.SPACE_EXHAUSTED, words)


def _spent(state: State) -> Finish | None:
    """The finish where the last answer says that the run's tokens or money are spent."""
    counted = state.exchanges[state.forgiven :]
    answer = counted[-1].answer if counted else None
    if answer is None or answer.error is None or not answer.error.startswith(SPENT):
        return None
    return Finish(FinishReason.BUDGET_SPENT, answer.error.removeprefix(SPENT))


def _given_up(state: State) -> Finish | None:
    last = state.exchanges[state.forgiven :][-FAILURES:]
    if len(last) < FAILURES or any(_fruitful(state, exchange.ask.number) for exchange in last):
        return None
    answer = last[-1].answer
    error = answer.error if answer is not None and answer.error else "no candidate that was not tried before"
    return Finish(FinishReason.PROPOSER_FAILED, f"{FAILURES} answers in a row without a candidate: {error}")


def _fruitful(state: State, number: int) -> bool:
    """Whether that answer led to an attempt, answered a phase, or said plainly that its parent has nothing left."""
    exchange = state.exchanges[number - 1]
    answer = exchange.answer
    if answer is None or answer.error == EXHAUSTED:
        return True
    if exchange.ask.purpose == "advise":
        return answer.data is not None
    submitted = {attempt.candidate for attempt in state.attempts}
    earlier = {
        candidate
        for exchange in state.exchanges[: number - 1]
        if exchange.answer is not None
        for candidate in exchange.answer.candidates
    }
    return any(candidate in submitted and candidate not in earlier for candidate in answer.candidates)
