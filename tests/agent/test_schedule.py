"""Attempts go where the headroom is, and nobody waits for ever."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.schedule import LEAST, Waiting, in_turn, weight

GAPS = st.lists(st.one_of(st.none(), st.floats(0.5, 100.0)), min_size=1, max_size=8)


def problem(key: int, gap: float | None = 8.0, attempts: int = 4, idle: int = 0) -> Waiting:
    return Waiting(key, gap, attempts, idle, key)


def test_what_was_never_measured_comes_first() -> None:
    assert in_turn([problem(1, 50.0, 1), problem(2, None, 0), problem(3, None, 0)]) == [2, 3, 1]


def test_more_headroom_comes_before_less_at_equal_attempts() -> None:
    assert in_turn([problem(1, 1.1), problem(2, 2.0), problem(3, 8.0)]) == [3, 2, 1]


def test_attempts_without_progress_count_against_a_problem() -> None:
    assert in_turn([problem(1, idle=16), problem(2, idle=0)]) == [2, 1]


def test_a_problem_near_sol_has_a_share_all_the_same() -> None:
    assert weight(problem(1, 1.0, idle=400)) == LEAST
    assert weight(problem(1, None)) == 1.0


def test_whoever_came_first_goes_first_among_equals() -> None:
    assert in_turn([problem(2), problem(1)]) == [1, 2]


@settings(deadline=None)
@given(GAPS)
def test_everybodys_turn_comes(gaps: list[float | None]) -> None:
    """Of a hundred turns a problem, none waits longer than its least share allows."""
    turns: Counter[int] = Counter()
    rounds = 100 * len(gaps)
    for _ in range(rounds):
        waiting = [Waiting(key, gap, turns[key], 0, key) for key, gap in enumerate(gaps)]
        turns[in_turn(waiting)[0]] += 1
    assert min(turns[key] for key in range(len(gaps))) >= rounds * LEAST / len(gaps) - 1
