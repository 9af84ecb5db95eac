"""From which attempt a model goes on: it mends what just failed, a few times, and else starts from the best."""

from __future__ import annotations

from agent.controllers import loop
from agent.history import Attempt, State

REPAIRS = 2
"""A program that failed, and at most so many failed repairs of it in a row, before the best is taken up again."""


def base(state: State) -> int | None:
    """The parent of the next attempt: the last one where it failed and is worth mending, the best, or the first.

    None where the proposer has said of each of them that nothing new can be made from it.
    """
    closed = loop.exhausted(state)
    best = 1 if state.best is None else state.best.number
    last = state.attempts[-1]
    for number in (last.number, best) if worth_mending(state, last) else (best,):
        if number not in closed:
            return number
    return None


def worth_mending(state: State, attempt: Attempt) -> bool:
    """Whether it failed, or is flagged, and no more than REPAIRS failures lead to it."""
    failures = 0
    one: Attempt | None = attempt
    while one is not None and one.failed:
        failures += 1
        parent = one.candidate.parent
        one = state.attempt(parent) if parent is not None and parent < one.number else None
    return 0 < failures <= REPAIRS
