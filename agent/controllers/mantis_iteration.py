"""One iteration of orchestrated MANTIS as the history has it: what was answered, and what is still to be asked.

Everything is found again in the exchanges by the iteration's number, which each ask carries in its payload.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent.history import EXHAUSTED, Attempt, Exchange, State
from agent.phases import Phase, phase_of
from agent.triage import roi


@dataclass(frozen=True, slots=True)
class Iteration:
    """Iteration ``number`` (1-based) and its exchanges, in order."""

    state: State
    number: int
    exchanges: tuple[Exchange, ...]

    @classmethod
    def last(cls, state: State) -> Iteration:
        """The one that was begun last; the first where none was."""
        return cls.of(state, max((iteration_of(exchange) for exchange in state.exchanges), default=0) or 1)

    @classmethod
    def of(cls, state: State, number: int) -> Iteration:
        """That iteration; without exchanges where it was not begun."""
        found = tuple(exchange for exchange in state.exchanges if iteration_of(exchange) == number)
        return cls(state, number, found)

    def asked(self, phase: Phase) -> list[Exchange]:
        """Its exchanges of one phase."""
        return [exchange for exchange in self.exchanges if phase_of(exchange.ask) is phase]

    def exhausted(self, phase: Phase) -> bool:
        """Whether the proposer said there that it has nothing left."""
        return any(
            exchange.answer is not None and exchange.answer.error == EXHAUSTED for exchange in self.asked(phase)
        )

    @property
    def analyzed(self) -> bool:
        """Whether there is an analysis."""
        return any(exchange.answer is not None and exchange.answer.data for exchange in self.asked(Phase.ANALYZE))

    @property
    def nominated(self) -> list[dict[str, Any]]:
        """The hypotheses; those that cannot be ranked are passed over. Empty where there are none yet."""
        for exchange in reversed(self.asked(Phase.NOMINATE)):
            listed = (exchange.answer.data or {}).get("hypotheses") if exchange.answer is not None else None
            found = [each for each in listed if rated(each, None) is not None] if isinstance(listed, list) else []
            if found:
                return found
        return []

    def triage(self) -> list[dict[str, Any]]:
        """The hypotheses to implement, the highest return first, each with its ``roi``.

        They are ranked once, by the gap at that time, and then read back from the first ask that implements.
        """
        implementing = self.asked(Phase.IMPLEMENT)
        if implementing:
            return list(implementing[0].ask.payload["triage"])
        gap = self.state.standing.gap if self.state.settings.steering else None
        ranked = sorted(
            ({**each, "roi": rated(each, gap)} for each in self.nominated),
            key=lambda each: -float(each["roi"] or 0),
        )
        return ranked[: self.state.settings.shape.hypotheses]

    def tries(self, place: int) -> list[Exchange]:
        """The asks that implement the hypothesis at that place of the triage."""
        return [exchange for exchange in self.asked(Phase.IMPLEMENT) if exchange.ask.payload.get("place") == place]

    def spent(self, place: int) -> bool:
        """Whether that hypothesis had its attempts, or nothing more can be made of it."""
        tries = self.tries(place)
        given_up = bool(tries) and tries[-1].answer is not None and tries[-1].answer.error == EXHAUSTED
        return given_up or len(tries) >= self.state.settings.shape.attempts

    def attempts(self, place: int | None = None) -> list[Attempt]:
        """What was tried for one hypothesis, or for all of them."""
        tries = self.asked(Phase.IMPLEMENT) if place is None else self.tries(place)
        texts = {
            candidate.text
            for exchange in tries
            if exchange.answer is not None
            for candidate in exchange.answer.candidates
        }
        return [attempt for attempt in self.state.attempts if attempt.candidate.text in texts]


def iteration_of(exchange: Exchange) -> int:
    """The number an ask carries; 0 where it carries none."""
    number = exchange.ask.payload.get("iteration")
    return number if isinstance(number, int) else 0


def rated(hypothesis: Any, gap: float | None) -> float | None:
    """A hypothesis' return on investment; None where it says too little to have one."""
    try:
        return roi(hypothesis["speedup"], hypothesis["implementation_risk"], hypothesis["performance_risk"], gap)
    except (KeyError, TypeError, ValueError):
        return None
