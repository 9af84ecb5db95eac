"""Runs that nothing would move or end any more: the scheduler finds them, once; and in which order rows are held."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from runs import budgets, changing, control, engine, execution, jobs, recovery
from runs.models import Event, Job, Run, Trajectory
from runs.states import JobState, RunState, TrajectoryState
from tests.runs.changing_worlds import steps
from tests.runs.worlds import Script, drain, make_run, next_job


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.get_or_create(username="alice")[0]


def test_a_paused_run_that_is_cancelled_ends_when_its_worker_died(script: Script, alice: User) -> None:
    run = make_run(attempts=2)
    steps(2)
    job = next_job()
    assert job is not None
    claimed = jobs.claim(job.pk, "one")
    assert claimed is not None
    changing.pause(run, alice)
    execution.retry_or_lose(claimed, "the disk went away")
    jobs.hold_back()
    again = Job.objects.get(pk=job.pk)
    assert again.state == JobState.PAUSED
    Run.objects.filter(pk=run.pk).update(cancel_requested=timezone.now(), cancelled_by=alice)
    jobs.hold_back()
    drain()
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    assert run.trajectories.get().state == TrajectoryState.CANCELLED


def test_a_job_put_back_after_its_paused_run_was_cancelled_is_taken_and_ended(script: Script, alice: User) -> None:
    run = make_run(attempts=2)
    job = next_job()
    assert job is not None
    assert jobs.claim(job.pk, "one") is not None
    changing.pause(run, alice)
    control.cancel(run, alice)
    recovery.release_in_order()
    recovery.tick()
    drain()
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED


def test_a_run_whose_problems_have_all_ended_is_ended_by_the_scheduler(script: Script) -> None:
    run = make_run(problems=2)
    Job.objects.filter(run=run).update(state=JobState.DONE)
    Trajectory.objects.filter(run=run).update(state=TrajectoryState.DONE)
    recovery.tick()
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert run.finished is not None


def test_a_run_with_an_open_problem_or_a_living_job_is_not_ended(script: Script) -> None:
    run = make_run(problems=2)
    first, second = run.trajectories.order_by("pk")
    Trajectory.objects.filter(pk=first.pk).update(state=TrajectoryState.DONE)
    recovery.end_what_is_over()
    Trajectory.objects.filter(pk=second.pk).update(state=TrajectoryState.DONE)
    recovery.end_what_is_over()
    run.refresh_from_db()
    assert run.state == RunState.QUEUED


def test_a_problem_that_has_ended_takes_no_step(script: Script) -> None:
    run = make_run(attempts=2)
    steps(1)
    stale = run.trajectories.get()
    Job.objects.filter(run=run).update(state=JobState.DONE)
    Trajectory.objects.filter(run=run).update(state=TrajectoryState.CANCELLED)
    events = Event.objects.count()
    engine.advance(stale)
    assert (Event.objects.count(), next_job()) == (events, None)


def test_two_schedulers_revive_a_trajectory_once(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(attempts=2)
    steps(1)
    Job.objects.filter(run=run, state=JobState.QUEUED).update(state=JobState.LOST)
    one = list(recovery._stalled())
    found = recovery._stalled
    answers = iter([one, found(), one, found()])
    monkeypatch.setattr(recovery, "_stalled", lambda: next(answers))
    recovery.revive_stalled()
    recovery.revive_stalled()
    assert Job.objects.filter(run=run, state=JobState.QUEUED).count() == 1


def test_a_worker_whose_lease_was_lost_during_a_cancel_leaves_nothing_open(script: Script, alice: User) -> None:
    run = make_run(attempts=2)
    job = next_job()
    assert job is not None
    assert jobs.claim(job.pk, "gone") is not None
    control.cancel(run, alice)
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(minutes=5))
    recovery.expire_leases()
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    assert not Trajectory.objects.filter(state=TrajectoryState.RUNNING).exists()


def _first_use(queries: CaptureQueriesContext, table: str) -> int:
    """The place of the first query that reads or changes a table's rows."""
    asked = [query["sql"] for query in queries.captured_queries]
    return next(n for n, sql in enumerate(asked) if f'FROM "{table}"' in sql or f'UPDATE "{table}"' in sql)


def _raise(run: Run, user: User) -> None:
    budgets.change(run, user, {"attempts": 5})


def _stop(run: Run, user: User) -> None:
    changing.stop_problem(run.trajectories.all()[1], user)


@pytest.mark.parametrize("act", [changing.retry, _raise, _stop, control.cancel])
def test_trajectories_are_held_before_their_run(
    script: Script, alice: User, act: Callable[[Run, User], object]
) -> None:
    run = make_run(problems=2)
    engine.fail(run.trajectories.order_by("pk")[0], "job-lost", "its worker died")
    run = Run.objects.prefetch_related("trajectories").get()
    with CaptureQueriesContext(connection) as queries:
        act(run, alice)
    assert _first_use(queries, Trajectory._meta.db_table) < _first_use(queries, Run._meta.db_table)
