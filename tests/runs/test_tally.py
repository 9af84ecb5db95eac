"""Counting a problem's attempts in one walk says the same as looking at each of them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kernels.harness.evaluation import Outcome
from runs.readings import Step
from runs.states import FINAL, AttemptState
from runs.tally import COLUMNS, tally
from sol.gap.standing import Held

TIMES = st.none() | st.sampled_from([0.0, 1e-3, 2e-3, 3e-3])
ATTEMPTS = st.lists(
    st.tuples(
        st.integers(1, 9),
        st.sampled_from([str(state) for state in AttemptState]),
        st.sampled_from(["", *[str(outcome) for outcome in Outcome]]),
        TIMES,
        TIMES,
        st.sampled_from(["", *[held.value for held in Held]]),
    ),
    max_size=12,
)


@given(ATTEMPTS, st.integers(0, 12))
def test_a_walk_says_what_the_steps_say(found: list[tuple[Any, ...]], kept: int) -> None:
    rows = [(*one, pk, "of another column") for pk, one in enumerate(found, 1)]
    steps = [Step._make(row[: len(COLUMNS)]) for row in rows]
    counted = [step for step in steps if step.counts]
    timed = [step for step in steps if step.time_s]
    seen = tally(rows, kept)
    assert (seen.count, seen.ended, seen.passed) == (
        len(steps), sum(step.ended for step in steps), sum(step.passed for step in steps),
    )  # fmt: skip
    assert seen.lost == sum(step.state == AttemptState.LOST for step in steps)
    assert seen.held == [step for step in steps if step.held]
    assert seen.under_way == next((step.state for step in steps if step.state not in FINAL), None)
    assert seen.claimed == min(timed, key=lambda step: step.time_s or 0.0, default=None)
    best = next((step for step in counted if step.pk == kept), None)
    assert seen.best == (best or min(counted, key=lambda step: step.time_s or 0.0, default=None))


def test_of_nothing_there_is_nothing() -> None:
    seen = tally([], None)
    assert (seen.count, seen.best, seen.claimed, seen.held, seen.under_way) == (0, None, None, [], None)
