"""What was asked of a language model and what it said: a trajectory's calls, and those that led to one attempt.

Nothing here is composed again: prompts are shown as they were sent. Everything a model said is data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from agent.history import SPENT
from agent.steps import Answered, Asked, Candidate, Event, History, Submitted, Usage
from runs import engine
from runs.desk import usage_of
from runs.fleet import MODEL_PREFIX
from runs.models import Attempt, LlmCall, Run, Trajectory

_HEAVY = ("system", "user", "answer", "data")
PHASES = {
    "attempt": "attempt",
    "seed": "first program",
    "expand": "expand",
    "mantis": "MANTIS in a prompt",
    "analyze": "analyze",
    "nominate": "nominate",
    "implement": "implement",
    "summarize": "summarize",
}


def asks_model(run: Run) -> bool:
    """Whether a language model writes the run's candidates."""
    return run.proposer.startswith(MODEL_PREFIX)


def asks_of_attempts(history: History) -> dict[int, tuple[int, ...]]:
    """The asks that led to each attempt: the one that gave its program, and those before it that gave advice.

    An advice counts for the attempts that follow it up to the next one of its phase. Attempts that nobody was asked
    for (the translated program, a person's) are not in it.
    """
    found: dict[int, tuple[int, ...]] = {}
    gave: dict[str, int] = {}
    asked: dict[int, Asked] = {}
    advice: dict[str, int] = {}
    behind: dict[int, tuple[int, ...]] = {}
    for event in history:
        if isinstance(event, Asked):
            asked[event.ask.number] = event
        elif isinstance(event, Answered):
            _note(event, asked, advice, behind, gave)
        elif isinstance(event, Submitted):
            number = gave.get(event.candidate.text)
            if number is not None:
                found[event.number] = (*behind[number], number)
    return found


def _note(
    event: Answered,
    asked: dict[int, Asked],
    advice: dict[str, int],
    behind: dict[int, tuple[int, ...]],
    gave: dict[str, int],
) -> None:
    """Take an answer into account: advice for later, or programs with the advice so far behind them."""
    ask = asked[event.number].ask
    if ask.purpose == "advise":
        advice[ask.phase] = event.number
    behind[event.number] = tuple(sorted(advice.values()))
    for candidate in event.candidates:
        gave.setdefault(candidate.text, event.number)


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call as it is listed; ``attempts`` are those that it led to."""

    call: LlmCall
    attempts: tuple[int, ...]

    @property
    def phase(self) -> str:
        """Its phase in words."""
        return PHASES.get(self.call.phase, self.call.phase)

    @property
    def why_no_tokens(self) -> str:
        """Why a count is missing."""
        if self.call.finished is None:
            return "the call has not ended, or its worker was lost"
        return "the server reported no count" if self.call.paid else "nothing was answered"

    @property
    def why_no_cost(self) -> str:
        """Why its cost is missing."""
        if not self.call.currency:
            return "no price was configured"
        return self.why_no_tokens


class Transcript:
    """A trajectory's calls. With ``number`` those that led to that attempt alone."""

    def __init__(self, trajectory: Trajectory, number: int | None = None) -> None:
        self.trajectory, self.number = trajectory, number
        self.run = trajectory.run

    @property
    def with_model(self) -> bool:
        """Whether a model was to be asked at all."""
        return asks_model(self.run)

    @property
    def model(self) -> str:
        """The model's name."""
        return self.run.proposer.removeprefix(MODEL_PREFIX)

    @cached_property
    def history(self) -> tuple[Event, ...]:
        """The trajectory's log."""
        return engine.history_of(self.trajectory)

    @cached_property
    def _led(self) -> dict[int, tuple[int, ...]]:
        return asks_of_attempts(self.history)

    @property
    def calls(self) -> QuerySet[LlmCall]:
        """The rows in order."""
        rows = LlmCall.objects.filter(trajectory=self.trajectory).order_by("pk")
        return rows if self.number is None else rows.filter(ask__in=self._led.get(self.number, ()))

    @cached_property
    def rows(self) -> list[CallRow]:
        """The calls without their texts."""
        if not self.with_model:
            return []
        return [CallRow(call, self.attempts_of(call)) for call in self.calls.defer(*_HEAVY)]

    def attempts_of(self, call: LlmCall) -> tuple[int, ...]:
        """The attempts that a call led to; none for one that failed, or whose answer was not used."""
        if call.error or call.finished is None:
            return ()
        return tuple(number for number, asks in self._led.items() if call.ask in asks)

    @cached_property
    def usage(self) -> Usage | None:
        """What the calls took together."""
        return usage_of([row.call for row in self.rows])

    @property
    def currency(self) -> str:
        """The currency of their costs."""
        return next((row.call.currency for row in self.rows if row.call.currency), "")

    @property
    def failed(self) -> int:
        """Calls without a usable answer."""
        return sum(bool(row.call.error) for row in self.rows)

    @cached_property
    def candidate(self) -> Candidate | None:
        """The attempt's candidate as it was submitted."""
        events = (event for event in self.history if isinstance(event, Submitted) and event.number == self.number)
        return next((event.candidate for event in events), None)

    @cached_property
    def actual(self) -> float | None:
        """The speedup over its parent that came of it, both times counted; None where either is missing."""
        own = Attempt.objects.filter(trajectory=self.trajectory, number=self.number or 0).select_related(
            "parent__trajectory", "trajectory"
        )
        attempt = own.first()
        if attempt is None or attempt.parent is None or not attempt.counted_s or not attempt.parent.counted_s:
            return None
        return attempt.parent.counted_s / attempt.counted_s

    @property
    def last_error(self) -> str:
        """The last answer's error where the trajectory has one, in words."""
        answers = [event for event in self.history if isinstance(event, Answered)]
        error = answers[-1].error if answers else None
        return (error or "").removeprefix(SPENT)

    def to_json(self) -> dict[str, Any]:
        """Everything, as it is exported. No key is anywhere in it: none is ever stored."""
        return {
            "run": self.trajectory.run_id,
            "problem": self.trajectory.problem.slug,
            "proposer": self.run.proposer,
            "controller": self.run.controller,
            "attempt": self.number,
            "calls": [self._call(call) for call in self.calls] if self.with_model else [],
        }

    def _call(self, call: LlmCall) -> dict[str, Any]:
        names = (
            "ask", "phase", "model", "served_as", "system", "user", "left_out", "answer", "data", "error", "words",
            "prompt_tokens", "cached_tokens", "completion_tokens", "cost", "currency", "seconds",
        )  # fmt: skip
        return {
            "id": call.pk,
            "attempts": list(self.attempts_of(call)),
            "started": call.started.isoformat(),
            "finished": call.finished.isoformat() if call.finished is not None else None,
            **{name: getattr(call, name) for name in names},
        }
