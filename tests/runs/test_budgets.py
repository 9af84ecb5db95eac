"""Other limits for a run under way or ended, with the engine: what goes on, what is refused, what the log says."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from runs import budgets
from runs.control_models import Action, RunChange
from runs.errors import LimitBelowUsed, NothingChanged
from runs.models import Attempt, Run
from runs.states import AttemptState, RunState
from tests.runs.changing_worlds import assert_whole, budget, steps
from tests.runs.worlds import Script, drain, make_run, passed


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.get_or_create(username="alice")[0]


def test_a_spent_run_goes_on_with_more_attempts_and_its_log_replays(script: Script, alice: User) -> None:
    run = make_run(problems=2, attempts=2)
    drain()
    assert budgets.change(run, alice, budget(run, attempts=4)) == 2
    run.refresh_from_db()
    assert (run.state, run.attempts, run.finished) == (RunState.RUNNING, 4, None)
    drain()
    run.refresh_from_db()
    assert run.state == RunState.DONE
    for trajectory in run.trajectories.all():
        assert_whole(trajectory, 4)
    told = RunChange.objects.get(action=Action.RAISED)
    assert told.record == {"problems": 2, "before": {"attempts": 2}, "after": {"attempts": 4}}
    assert told.user == alice
    with pytest.raises(NothingChanged):
        budgets.change(run, alice, budget(run))


def test_limits_of_a_run_under_way_hold_from_its_next_step_on(script: Script, alice: User) -> None:
    run = make_run(attempts=2)
    while not Attempt.objects.filter(number=2).exists():
        steps(1)
    assert budgets.change(run, alice, budget(run, attempts=3)) == 0
    drain()
    assert_whole(run.trajectories.get(), 3)


def test_a_run_that_finishes_just_before_its_budget_is_raised_goes_on(script: Script, alice: User) -> None:
    """Whoever comes first, the problem has its raised attempts: here the end was written, and the raise opens it."""
    run = make_run(attempts=2)
    wanted = budget(run, attempts=3)
    drain()
    assert budgets.change(Run.objects.get(), alice, wanted) == 1
    drain()
    assert_whole(run.trajectories.get(), 3)


def test_less_than_was_used_is_refused_and_less_than_was_planned_is_not(script: Script, alice: User) -> None:
    run = make_run(attempts=5)
    while Attempt.objects.filter(state=AttemptState.DONE).count() < 3:
        steps(1)
    for wrong in ({"attempts": 2}, {"pool": 1}):
        with pytest.raises(LimitBelowUsed):
            budgets.change(run, alice, budget(run, **wrong))
    run.refresh_from_db()
    assert (run.attempts, run.pool) == (5, None)
    budgets.change(run, alice, budget(run, attempts=4))
    drain()
    assert_whole(run.trajectories.get(), 4)


def test_a_pool_that_was_used_up_is_made_larger(script: Script, alice: User) -> None:
    run = make_run(problems=2, attempts=4)
    Run.objects.filter(pk=run.pk).update(pool=4)
    drain()
    assert Attempt.objects.count() == 4
    assert budgets.change(run, alice, budget(run, pool=8)) == 2
    drain()
    assert Attempt.objects.filter(state=AttemptState.DONE).count() == 8
    run.refresh_from_db()
    assert run.pool_used == 8


def test_a_pool_set_later_counts_what_was_made_before(script: Script, alice: User) -> None:
    run = make_run(problems=2, attempts=2)
    drain()
    budgets.change(run, alice, budget(run, attempts=5, pool=6))
    drain()
    assert Attempt.objects.filter(state=AttemptState.DONE).count() == 6


def test_near_sol_goes_on_under_a_narrower_rule_and_stays_under_a_wider(script: Script, alice: User) -> None:
    run = make_run(attempts=4)
    Run.objects.filter(pk=run.pk).update(epsilon=0.5)
    script.results = [passed(1.4e-6), passed(1.3e-6), passed(1.2e-6), passed(1.1e-6)]
    drain()
    trajectory = run.trajectories.get()
    assert trajectory.finish_reason == "near_sol"
    assert budgets.change(run, alice, budget(run, epsilon=0.6)) == 0
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert budgets.change(run, alice, budget(run, epsilon=None)) == 1
    drain()
    trajectory.refresh_from_db()
    assert trajectory.finish_reason == "attempts_spent"
    assert_whole(trajectory, 4)
