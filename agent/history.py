"""What a history says, derived once: attempts, the best of them, the budget's standing, what is still open.

Pure functions of the events. It decides nothing; the budget and the controllers do.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from agent.changes import finish_that_stands, forgiven_asks, settings_now
from agent.errors import HistoryNotStarted
from agent.steps import (
    Answered,
    Ask,
    Asked,
    Candidate,
    Event,
    Finished,
    History,
    Measured,
    Profiled,
    Recalled,
    Started,
    Submitted,
    TrajectorySettings,
)
from kernels.harness.evaluation import Outcome

IMPROVEMENT = 0.005
"""An attempt is an improvement when it takes at least this share less time than the best before it."""

DISTURBED = 0.1
"""A baseline further than this share off the run's usual one tells of a disturbed measurement."""

NOTES = frozenset({"profiled", "recalled", "changed", "reopened"})
"""Kinds of events that tell something and take no step."""

EXHAUSTED = "search space exhausted"
"""The error of an answer that means: nothing new can be made from this parent. Any other error is a failure."""

SPENT = "budget spent: "
"""The error of an answer begins so where the run's tokens or money do not cover one more call of a model."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One submitted candidate and, once it ended, its result."""

    number: int
    candidate: Candidate
    result: Measured | None

    @property
    def time_s(self) -> float | None:
        """Its median in seconds where it counts: it passed and no open severe flag holds it; else None."""
        result = self.result
        if result is None or result.flagged or result.outcome is not Outcome.PASSED:
            return None
        return result.time_s

    def steady_s(self, baseline_s: float | None) -> float | None:
        """``time_s`` as a search should compare it: where the baseline of the same call was off the run's usual one
        by more than DISTURBED, the machine was busy with something else, and the time is scaled by the same ratio.

        It steers, and is never shown or counted as a result.
        """
        own = None if self.result is None else self.result.baseline_s
        if self.time_s is None or not own or not baseline_s or abs(own / baseline_s - 1) <= DISTURBED:
            return self.time_s
        return self.time_s * baseline_s / own

    @property
    def failed(self) -> bool:
        """Whether it ended without a time that counts; one that was only not measured has not failed."""
        if self.result is None or self.result.outcome is Outcome.NOT_MEASURED:
            return False
        return self.time_s is None


class Ended(NamedTuple):
    """What the budget rules look at of one attempt that ended: its time where it counts, the baseline of its call."""

    number: int
    time_s: float | None
    baseline_s: float | None


class Standing(NamedTuple):
    """What the budget rules look at after some number of attempts. Times in seconds, None where not measured."""

    attempts: int
    sol_s: float
    best: int | None
    best_s: float | None
    baseline_s: float | None
    since_improvement: int

    @property
    def gap(self) -> float | None:
        """Best time over SOL; None before anything passed, or where there is no bound."""
        if self.best_s is None or self.sol_s <= 0:
            return None
        return self.best_s / self.sol_s

    @property
    def ahead(self) -> bool:
        """Whether the best is faster than the baseline, both measured."""
        return self.best_s is not None and self.baseline_s is not None and self.best_s < self.baseline_s


@dataclass(frozen=True, slots=True)
class Exchange:
    """An ask and, once it came, its answer."""

    ask: Ask
    answer: Answered | None


@dataclass(frozen=True, slots=True)
class State:
    """A history seen from its end.

    ``pending`` are answered candidates in order that were not submitted and whose text was not tried yet.
    ``settings`` are those that hold at its end; of its asks the first ``forgiven`` came before people last changed
    something, and end nothing.
    """

    settings: TrajectorySettings
    started: Started
    attempts: tuple[Attempt, ...]
    exchanges: tuple[Exchange, ...]
    pending: tuple[Candidate, ...]
    standing: Standing
    finished: Finished | None
    forgiven: int = 0

    @classmethod
    def of(cls, settings: TrajectorySettings, history: History) -> State:
        """Raises HistoryNotStarted unless the first event is ``started``."""
        started = _with_lessons(first_event(history), history)
        attempts = tuple(_attempts(history))
        answers = {event.number: event for event in history if isinstance(event, Answered)}
        exchanges = tuple(
            Exchange(event.ask, answers.get(event.ask.number)) for event in history if isinstance(event, Asked)
        )
        return cls(
            settings=settings_now(settings, history),
            started=started,
            attempts=attempts,
            exchanges=exchanges,
            pending=tuple(_pending(history)),
            standing=_standings(started.sol_s, attempts)[-1],
            finished=finish_that_stands(history),
            forgiven=forgiven_asks(history),
        )

    @property
    def best(self) -> Attempt | None:
        """The fastest attempt that passed and is not flagged; the earlier one of two equals."""
        return None if self.standing.best is None else self.attempt(self.standing.best)

    @property
    def next_number(self) -> int:
        """The number of the next attempt (1-based, gapless)."""
        return len(self.attempts) + 1

    @property
    def next_ask(self) -> int:
        """The number of the next ask (1-based, gapless)."""
        return len(self.exchanges) + 1

    def steady_s(self, attempt: Attempt | None) -> float | None:
        """An attempt's time for comparison within the run, in seconds; None where it has none that counts."""
        return None if attempt is None else attempt.steady_s(self.standing.baseline_s)

    @property
    def attempts_left(self) -> int:
        """How many attempts the settings still allow."""
        return max(0, self.settings.attempts - len(self.attempts))

    @property
    def open_step(self) -> str | None:
        """What is under way ("ask 2", "attempt 5"), or None."""
        for exchange in self.exchanges:
            if exchange.answer is None:
                return f"ask {exchange.ask.number}"
        for attempt in self.attempts:
            if attempt.result is None:
                return f"attempt {attempt.number}"
        return None

    def attempt(self, number: int) -> Attempt | None:
        """The attempt of that number."""
        return self.attempts[number - 1] if 0 < number <= len(self.attempts) else None

    def parent(self, ask: Ask) -> Attempt | None:
        """The attempt an ask starts from; the translated program where it names none that exists."""
        return (self.attempt(ask.parent) if ask.parent is not None else None) or self.attempt(1)


def first_event(history: History) -> Started:
    """The ``started`` event; raises HistoryNotStarted where the history begins otherwise."""
    if history and isinstance(history[0], Started):
        return history[0]
    raise HistoryNotStarted(found=repr(history[0].kind) if history else "nothing")


def _with_lessons(started: Started, history: History) -> Started:
    """The first event with the lessons that were recalled last."""
    recalled = next((event for event in reversed(history) if isinstance(event, Recalled)), None)
    return started if recalled is None else replace(started, lessons=recalled.lessons)


def last_step(history: History) -> Event | None:
    """The last event that moved the trajectory. Notes aside (``NOTES``), and a result that is written again because a
    person settled its flag, may come at any time."""
    measured: set[int] = set()
    last: Event | None = None
    for event in history:
        if event.kind in NOTES or (isinstance(event, Measured) and event.number in measured):
            continue
        if isinstance(event, Measured):
            measured.add(event.number)
        last = event
    return last


def standings(history: History) -> tuple[Standing, ...]:
    """The standing after each attempt that ended, in order; the first entry is the one before any attempt."""
    return _standings(first_event(history).sol_s, tuple(_attempts(history)))


def _attempts(history: History) -> Iterator[Attempt]:
    # A result may be written again, as when a person lifts a flag: the last one stands.
    results = {event.number: event for event in history if isinstance(event, Measured)}
    for event in history:
        if isinstance(event, Profiled) and event.number in results:
            results[event.number] = replace(results[event.number], feedback=event.feedback)
    for event in history:
        if isinstance(event, Submitted):
            yield Attempt(event.number, event.candidate, results.get(event.number))


def _pending(history: History) -> Iterator[Candidate]:
    tried = {event.candidate.text for event in history if isinstance(event, Submitted)}
    for event in history:
        if isinstance(event, Answered):
            for candidate in event.candidates:
                if candidate.text not in tried:
                    tried.add(candidate.text)
                    yield candidate


def _standings(sol_s: float, attempts: tuple[Attempt, ...]) -> tuple[Standing, ...]:
    ended = ((one.number, one.time_s, one.result.baseline_s) for one in attempts if one.result is not None)
    return standings_after(sol_s, map(Ended._make, ended))


def standings_after(sol_s: float, ended: Iterable[Ended]) -> tuple[Standing, ...]:
    """The standing after each of these attempts, the one before any first."""
    found = [Standing(0, sol_s, None, None, None, 0)]
    baselines: list[float] = []
    best, best_s, idle = None, None, 0
    for count, (number, time_s, baseline_s) in enumerate(ended, start=1):
        if baseline_s is not None:
            insort(baselines, baseline_s)
        improved = time_s is not None and (best_s is None or time_s < best_s * (1 - IMPROVEMENT))
        if time_s is not None and (best_s is None or time_s < best_s):
            best, best_s = number, time_s
        idle = 0 if improved else idle + 1
        found.append(Standing(count, sol_s, best, best_s, _median(baselines), idle))
    return tuple(found)


def _median(ordered: list[float]) -> float | None:
    """The middle of sorted values; None of none."""
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2 if ordered else None
