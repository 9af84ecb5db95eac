"""What the attempts of one problem come to, counted in one walk over plain columns: a run has ten thousand of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kernels.harness.evaluation import Outcome
from runs.readings import Step
from runs.states import FINAL, AttemptState

COLUMNS = Step._fields
"""What is read of an attempt, in the order in which it comes here."""

_ENDED, _LOST, _PASSED = (
    frozenset({AttemptState.DONE, AttemptState.LOST}),
    str(AttemptState.LOST),
    str(Outcome.PASSED),
)


@dataclass(slots=True)
class Tally:
    """Counts, and the few attempts that a row of the run page names. Ended: done or lost, not cancelled."""

    count: int = 0
    ended: int = 0
    lost: int = 0
    passed: int = 0
    under_way: str | None = None
    best: Step | None = None
    claimed: Step | None = None
    held: list[Step] = field(default_factory=list)


def tally(attempts: Iterable[tuple[Any, ...]], kept: int | None) -> Tally:
    """Count attempts, each with ``COLUMNS`` ahead of whatever else.

    Best is the attempt with the key ``kept`` where its time counts, else the fastest that does; claimed is the fastest
    if every time counted; under way is the state of the first that has not ended.
    """
    found = Tally()
    fastest, claimed, chosen = None, None, None
    for attempt in attempts:
        _, state, outcome, time_s, _, held, pk, *_ = attempt
        found.count += 1
        if state in _ENDED:
            found.ended += 1
            found.lost += state == _LOST
        elif found.under_way is None and state not in FINAL:
            found.under_way = state
        if held:
            found.held.append(_step(attempt))
        else:
            found.passed += outcome == _PASSED
        if time_s is None:
            continue
        if time_s and (claimed is None or time_s < claimed[3]):
            claimed = attempt
        if not held:
            if pk == kept:
                chosen = attempt
            if fastest is None or time_s < fastest[3]:
                fastest = attempt
    best = chosen or fastest
    found.best = _step(best) if best else None
    found.claimed = _step(claimed) if claimed else None
    return found


def _step(attempt: tuple[Any, ...]) -> Step:
    return Step._make(attempt[: len(COLUMNS)])
