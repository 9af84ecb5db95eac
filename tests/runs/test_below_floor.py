"""A time below the floor is stored as evidence and held for review: no best, no progress, nothing to search from."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from agent.history import State
from agent.steps import Measured
from kernels.harness.evaluation import Outcome
from runs import engine
from runs.models import Attempt, Trajectory
from runs.queries import best_attempts_on
from sol.gap.standing import Held, standing_of
from tests.web.rows import attempt, problem, run, trajectory

FLOOR_S, SOL_S = 1e-3, 1.2e-3


@pytest.fixture
def row(db: None) -> Trajectory:
    alice = User.objects.create_user("alice")
    found = trajectory(run(alice), problem(1))
    found.floor_s, found.sol_s = FLOOR_S, SOL_S
    found.save()
    return found


def measured(on: Trajectory, number: int, time_s: float) -> Attempt:
    """The engine's own end of an attempt."""
    one = attempt(on, number, None, state="evaluating")
    engine.record_measured(one, Measured(number, Outcome.PASSED, "", time_s, 3e-3))
    return one


def test_the_event_is_flagged_and_says_why(row: Trajectory) -> None:
    measured(row, 1, 0.5e-3)
    event = engine.history_of(row)[-1]
    assert isinstance(event, Measured)
    assert event.flagged
    assert event.time_s == 0.5e-3
    assert event.detail.startswith("suspect: more than 10 % below the floor")


@pytest.mark.parametrize("time_s", [0.5e-3, 0.999e-3])
def test_it_is_no_best_however_little_below(row: Trajectory, time_s: float) -> None:
    one = measured(row, 1, time_s)
    row.refresh_from_db()
    assert (row.best, row.best_s, row.attempts_done) == (None, None, 1)
    assert (one.new_best, one.change_of_best, one.time_s) == (False, None, time_s)
    assert (one.held, one.standing.held) == (Held.FLOOR, True)
    assert (one.gap, one.speedup) == (None, None)


def test_between_the_floor_and_the_bound_it_counts(row: Trajectory) -> None:
    one = measured(row, 1, 1.1e-3)
    row.refresh_from_db()
    assert row.best == one
    assert one.speedup == pytest.approx(3 / 1.1)
    event = engine.history_of(row)[-1]
    assert isinstance(event, Measured)
    assert not event.flagged


def test_a_later_honest_time_is_the_best(row: Trajectory) -> None:
    measured(row, 1, 0.5e-3)
    honest = measured(row, 2, 2e-3)
    row.refresh_from_db()
    assert row.best == honest
    assert honest.change_of_best is None


def test_the_agent_neither_counts_it_nor_searches_from_it(row: Trajectory) -> None:
    attempts = [measured(row, 1, 2e-3), measured(row, 2, 0.5e-3)]
    history = engine.history_of(row)
    state = State.of(engine.settings_of(row.run), history)
    assert state.standing.best is None or state.standing.best_s == 2e-3
    events = {event.number: event for event in history if isinstance(event, Measured)}
    assert [events[one.number].flagged for one in attempts] == [False, True]


def test_the_row_says_what_the_rule_says(row: Trajectory) -> None:
    for number, share in enumerate((0.5, 0.9, 0.9999, 1.0, 1.05, 3.0), 1):
        measured(row, number, FLOOR_S * share)
    unbounded = Trajectory.objects.create(run=run(row.run.owner), problem=row.problem, size="cpu")
    attempt(unbounded, 1, time_s=1e-9)
    for one in Attempt.objects.filter(time_s__isnull=False).select_related("trajectory"):
        assert (one.held == "") == standing_of(one.time_s, one.trajectory.floor_s).counts, one
        assert (one.counted_s is None) == bool(one.held)
    below = [one.time_s for one in best_attempts_on(row.problem.pk) if one.trajectory_id == row.pk]
    assert below == sorted(time for time in below if time is not None and time >= FLOOR_S)
    assert Attempt.objects.filter(trajectory=row, time_s__lt=F("trajectory__floor_s")).count() == 3
