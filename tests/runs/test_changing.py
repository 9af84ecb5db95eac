"""What people do to a run after its launch, with the engine: pausing, retrying, stopping one problem."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from kernels.harness.evaluation import Outcome
from runs import changing, control, engine, execution, jobs, recovery
from runs.control_models import Action, RunChange
from runs.errors import NothingToRetry, RunOver
from runs.execution import run_job
from runs.fleet import LATER
from runs.models import Attempt, Event, Job, Trajectory
from runs.states import AttemptState, JobKind, JobState, RunState, TrajectoryState
from tests.runs.changing_worlds import assert_whole, steps
from tests.runs.worlds import Script, drain, make_run, next_job, passed


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.get_or_create(username="alice")[0]


@pytest.mark.parametrize("after", range(1, 13))
def test_a_pause_anywhere_loses_and_doubles_nothing(script: Script, alice: User, after: int) -> None:
    run = make_run(attempts=3)
    steps(after)
    changing.pause(run, alice)
    run.refresh_from_db()
    assert (run.state, run.paused_by) == (RunState.PAUSED, alice)
    assert next_job() is None
    recovery.revive_stalled()
    jobs.hold_back()
    assert next_job() is None
    changing.resume(run, alice)
    drain()
    run.refresh_from_db()
    assert (run.state, run.paused) == (RunState.DONE, None)
    assert run.started is not None
    assert_whole(run.trajectories.get(), 3)
    assert script.evaluations == 3


def test_what_is_under_way_ends_and_is_stored_and_nothing_new_is_taken(
    script: Script, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(attempts=3)
    while (job := next_job()) is not None and job.kind != JobKind.EVALUATE:
        run_job(job.pk, "w")
    evaluate = script.evaluate

    def pause_meanwhile(*arguments: Any, **named: Any) -> Any:
        changing.pause(run, alice)
        return evaluate(*arguments, **named)

    monkeypatch.setattr("runs.handlers.evaluate.evaluate", pause_meanwhile)
    assert job is not None
    run_job(job.pk, "w")
    monkeypatch.setattr("runs.handlers.evaluate.evaluate", script.evaluate)
    assert Attempt.objects.get().state == AttemptState.DONE
    follower = next_job()
    assert follower is not None, "queued by what was under way"
    assert jobs.claim(follower.pk, "w") is None, "but nobody may take it"
    assert not jobs.urgent_work().filter(state=JobState.CLAIMED).exists()
    jobs.hold_back()
    assert not jobs.urgent_work().exists(), "and its queue is free"
    changing.resume(run, alice)
    drain()
    assert_whole(run.trajectories.get(), 3)


def test_a_job_whose_worker_died_during_a_pause_waits_and_is_done_once(script: Script, alice: User) -> None:
    run = make_run(attempts=2)
    steps(2)
    job = next_job()
    assert job is not None
    assert jobs.claim(job.pk, "gone") is not None
    changing.pause(run, alice)
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(minutes=5))
    recovery.expire_leases()
    jobs.hold_back()
    job.refresh_from_db()
    assert job.state == JobState.PAUSED
    changing.resume(run, alice)
    drain()
    assert_whole(run.trajectories.get(), 2)


def test_a_second_pause_and_a_second_resume_do_nothing(script: Script, alice: User) -> None:
    run = make_run()
    for _ in range(2):
        changing.pause(run, alice)
    for _ in range(2):
        changing.resume(run, alice)
    assert [c.action for c in RunChange.objects.all()] == [Action.PAUSED, Action.RESUMED]
    assert Job.objects.filter(state=JobState.QUEUED).count() == 1


def test_a_paused_run_is_cancelled_at_once_and_then_is_over(script: Script, alice: User) -> None:
    run = make_run()
    steps(3)
    changing.pause(run, alice)
    control.cancel(run, alice)
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    assert not Job.objects.filter(state__in=(JobState.QUEUED, JobState.PAUSED)).exclude(queue=LATER).exists()
    for act in (changing.pause, changing.resume, changing.retry):
        with pytest.raises(RunOver):
            act(run, alice)


def test_a_hint_of_a_paused_run_wakes_nobody(script: Script, alice: User) -> None:
    run = make_run()
    job = next_job()
    assert job is not None
    changing.pause(run, alice)
    assert run_job(job.pk, "w") is False
    job.refresh_from_db()
    assert (job.state, job.tries) == (JobState.PAUSED, 0)


def test_a_problem_that_could_not_be_prepared_is_prepared_again(
    script: Script, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runs.errors import ProblemNotUsable
    from tests.runs import worlds

    def broken(*_: Any) -> None:
        raise ProblemNotUsable(problem="own/1", size="cpu", error="x", detail="y")

    run = make_run(attempts=2)
    monkeypatch.setattr("runs.handlers.prepare.prepare", broken)
    drain()
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    monkeypatch.setattr("runs.handlers.prepare.prepare", lambda t, d, _: (worlds.started(t.run), worlds.BOUNDS))
    assert changing.retry(run, alice) == (1, 0)
    drain()
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.DONE, "")
    assert_whole(run.trajectories.get(), 2)
    with pytest.raises(NothingToRetry):
        changing.retry(run, alice)


def test_lost_attempts_are_measured_again_under_their_numbers(script: Script, alice: User, settings: Any) -> None:
    settings.JOB_TRIES = 1
    script.results = [passed(5e-5), RuntimeError("the card fell off"), passed(4e-5)]
    run = make_run(attempts=3)
    drain()
    assert list(Attempt.objects.order_by("number").values_list("state", flat=True)) == ["done", "lost", "done"]
    script.results = [passed(2e-5)]
    assert changing.retry(run, alice) == (0, 1)
    run.refresh_from_db()
    assert (run.state, run.finished) == (RunState.RUNNING, None)
    drain()
    run.refresh_from_db()
    assert run.state == RunState.DONE
    trajectory = run.trajectories.get()
    assert_whole(trajectory, 3)
    assert trajectory.best is not None
    assert (trajectory.best.number, trajectory.best_s) == (2, 2e-5)
    measured = [e.record["number"] for e in Event.objects.filter(kind="measured").order_by("sequence")]
    assert measured == [1, 2, 3, 2]


def test_a_lost_attempt_of_a_problem_under_way_comes_before_its_next_step(
    script: Script, alice: User, settings: Any
) -> None:
    settings.JOB_TRIES = 1
    script.results = [RuntimeError("gone")]
    run = make_run(attempts=2)
    while not Attempt.objects.filter(state=AttemptState.LOST).exists():
        steps(1)
    assert changing.retry(run, alice) == (0, 1)
    assert Job.objects.filter(state=JobState.QUEUED).exclude(queue=LATER).count() == 1
    drain()
    assert_whole(run.trajectories.get(), 2)


def test_a_failed_problem_goes_on_from_its_log(script: Script, alice: User) -> None:
    run = make_run(attempts=3)
    while Attempt.objects.filter(state=AttemptState.DONE).count() < 2:
        steps(1)
    job = next_job()
    assert job is not None
    Job.objects.filter(pk=job.pk).update(state=JobState.LOST)
    engine.record_lost(job, "its worker died")
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    assert changing.retry(run, alice) == (1, 0)
    drain()
    assert_whole(run.trajectories.get(), 3)
    assert script.evaluations == 3


def test_a_proposer_that_failed_is_asked_again(
    script: Script, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent.steps import Answered
    from runs import answering

    run = make_run(attempts=3)
    real = answering.answer
    monkeypatch.setattr(answering, "answer", lambda t, s, h, ask, lease: Answered(ask.number, (), "no server"))
    drain()
    trajectory = run.trajectories.get()
    assert (trajectory.state, trajectory.finish_reason) == (TrajectoryState.DONE, "proposer_failed")
    monkeypatch.setattr(answering, "answer", real)
    assert changing.retry(run, alice) == (1, 0)
    drain()
    trajectory.refresh_from_db()
    assert trajectory.finish_reason == "attempts_spent"
    assert_whole(trajectory, 3)


def test_one_problem_is_stopped_and_the_others_go_on(script: Script, alice: User) -> None:
    run = make_run(problems=2, attempts=2)
    victim, other = run.trajectories.order_by("pk")
    steps(4)
    changing.stop_problem(victim, alice)
    changing_again = Trajectory.objects.get(pk=victim.pk)
    assert (changing_again.state, changing_again.words) == (TrajectoryState.CANCELLED, "stopped by alice")
    with pytest.raises(RunOver):
        changing.stop_problem(victim, alice)
    drain()
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert_whole(other, 2)
    assert RunChange.objects.get().trajectory == victim


def test_a_problem_stopped_during_a_measurement_ends_with_it(
    script: Script, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(problems=1, attempts=2)
    while (job := next_job()) is not None and job.kind != JobKind.EVALUATE:
        run_job(job.pk, "w")

    def stop_meanwhile(*_: Any, **named: Any) -> Any:
        changing.stop_problem(run.trajectories.get(), alice)
        return passed(1e-5)

    monkeypatch.setattr("runs.handlers.evaluate.evaluate", stop_meanwhile)
    assert job is not None
    run_job(job.pk, "w")
    assert Attempt.objects.get().state == AttemptState.CANCELLED
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED, "it was the only problem"
    assert next_job() is None


def test_a_stopped_problem_whose_worker_died_is_ended_by_the_scheduler(script: Script, alice: User) -> None:
    run = make_run(problems=2, attempts=1)
    victim = run.trajectories.order_by("pk")[0]
    job = Job.objects.get(trajectory=victim)
    claimed = jobs.claim(job.pk, "gone")
    assert claimed is not None
    changing.stop_problem(victim, alice)
    victim.refresh_from_db()
    assert victim.state not in ("cancelled", "done")
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(minutes=5))
    recovery.expire_leases()
    victim.refresh_from_db()
    assert victim.state == TrajectoryState.CANCELLED
    drain()
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_a_run_of_failed_and_stopped_problems_has_failed(script: Script, alice: User) -> None:
    run = make_run(problems=2)
    first, second = run.trajectories.order_by("pk")
    changing.stop_problem(first, alice)
    Job.objects.filter(trajectory=second).update(state=JobState.CANCELLED)
    engine.fail(second, "problem-crashed", "it ended its process")
    run.refresh_from_db()
    assert (run.state, run.reason) == (RunState.FAILED, "it ended its process")


def test_an_outcome_is_lost_only_once(script: Script, alice: User, settings: Any) -> None:
    settings.JOB_TRIES = 1
    script.results = [RuntimeError("gone"), passed(1e-5)]
    run = make_run(attempts=1)
    drain()
    job = Job.objects.filter(kind=JobKind.EVALUATE).get()
    execution.retry_or_lose(job, "late news")
    assert Event.objects.filter(kind="measured").count() == 1
    changing.retry(run, alice)
    drain()
    assert Attempt.objects.get().outcome == Outcome.PASSED
