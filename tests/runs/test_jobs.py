"""Claims, leases, retries: nothing is lost and nothing counts twice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from runs import control, jobs, recovery
from runs.execution import run_job
from runs.fleet import CPU, LATER
from runs.jobs import JobCancelled, JobPreempted, Lease, LeaseLost
from runs.models import Attempt, Job, Run, Trajectory
from runs.states import AttemptState, JobKind, JobState, RunState, TrajectoryState
from tests.runs.worlds import Script, drain, make_run, next_job


def run_until(kind: str) -> Job:
    """Do jobs until one of ``kind`` is the next; that one, still queued."""
    while (job := next_job()) is not None:
        if job.kind == kind:
            return job
        run_job(job.pk, "test worker")
    raise AssertionError(f"no {kind} job came")


def test_a_job_is_claimed_once(script: Script) -> None:
    make_run()
    job = next_job()
    assert job is not None
    assert jobs.claim(job.pk, "one") is not None
    assert jobs.claim(job.pk, "two") is None


def test_a_doubled_message_does_nothing(script: Script) -> None:
    make_run(attempts=1)
    job = run_until(JobKind.EVALUATE)
    run_job(job.pk, "one")
    run_job(job.pk, "two")
    assert script.evaluations == 1
    assert Attempt.objects.count() == 1


def test_a_result_that_comes_after_the_lease_was_lost_is_dropped(script: Script) -> None:
    make_run(attempts=1)
    queued = run_until(JobKind.EVALUATE)
    held = jobs.claim(queued.pk, "slow worker")
    assert held is not None
    Job.objects.filter(pk=held.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    recovery.expire_leases()
    with pytest.raises(LeaseLost), jobs.settling(held):
        raise AssertionError("the block must not run")
    drain()
    assert Attempt.objects.get().outcome == "passed"
    assert Attempt.objects.get().tries == 1


def test_an_expired_lease_puts_the_attempt_back_and_says_so(script: Script) -> None:
    make_run(attempts=1)
    queued = run_until(JobKind.EVALUATE)
    jobs.claim(queued.pk, "dead worker")
    Job.objects.filter(pk=queued.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    recovery.expire_leases()
    queued.refresh_from_db()
    assert queued.state == JobState.QUEUED
    assert Attempt.objects.get().state == AttemptState.BUILT


def test_a_job_that_kills_its_worker_every_time_is_lost_and_the_run_goes_on(
    script: Script, settings: object
) -> None:
    make_run(attempts=2)
    queued = run_until(JobKind.EVALUATE)
    for _ in range(3):
        assert jobs.claim(queued.pk, "dying worker") is not None
        recovery.take_back("dying worker")
    queued.refresh_from_db()
    assert queued.state == JobState.LOST
    lost = Attempt.objects.get(number=1)
    assert lost.state == AttemptState.LOST
    assert lost.outcome == "not_measured"
    assert "lost after 3 tries" in lost.detail
    drain()
    assert Attempt.objects.get(number=2).outcome == "passed"
    assert Run.objects.get().state == RunState.DONE


def test_an_unexpected_error_is_tried_again_and_kept(script: Script) -> None:
    make_run(attempts=1)
    script.results = [RuntimeError("the disk went away")]
    drain()
    assert script.evaluations == 2
    assert Attempt.objects.get().outcome == "passed"


def test_cancelling_ends_what_waits_at_once(script: Script) -> None:
    run = make_run(problems=2)
    alice = User.objects.get(username="alice")
    control.cancel(run, alice)
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    assert run.cancelled_by == alice
    assert next_job() is None
    assert set(Trajectory.objects.values_list("state", flat=True)) == {TrajectoryState.CANCELLED}


def test_cancelling_stops_what_is_under_way(script: Script) -> None:
    run = make_run(attempts=2)
    queued = run_until(JobKind.EVALUATE)
    held = jobs.claim(queued.pk, "host worker")
    assert held is not None
    lease = Lease(held)
    control.cancel(run, run.owner)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    with pytest.raises(JobCancelled):
        lease.check()
    assert lease.stop()
    from runs.execution import cancel

    cancel(held)
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    assert Attempt.objects.get().state == AttemptState.CANCELLED


def test_a_worker_that_dies_while_its_run_is_cancelled_leaves_a_cancelled_run(script: Script) -> None:
    run = make_run(attempts=2)
    queued = run_until(JobKind.EVALUATE)
    jobs.claim(queued.pk, "dead worker")
    control.cancel(run, run.owner)
    recovery.take_back("dead worker")
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED


def test_cancelling_twice_or_too_late_changes_nothing(script: Script) -> None:
    run = make_run(attempts=1)
    drain()
    control.cancel(run, run.owner)
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert run.cancel_requested is None


def test_work_that_waits_gives_way(script: Script) -> None:
    make_run(attempts=1)
    drain()
    job = Job.objects.get(kind=JobKind.CROSS_BUILD)
    held = jobs.claim(job.pk, "cpu worker")
    assert held is not None
    Lease(held).check()
    make_run(attempts=1)
    with pytest.raises(JobPreempted):
        Lease(held).check()
    jobs.put_back(held, count_try=False)
    job.refresh_from_db()
    assert (job.state, job.tries) == (JobState.QUEUED, 0)


def test_lost_hints_are_sent_again(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run()
    sent: list[tuple[int, str]] = []

    def note(job_id: int, queue: str) -> bool:
        sent.append((job_id, queue))
        return True

    monkeypatch.setattr("runs.jobs.send", note)
    monkeypatch.setattr("runs.recovery._waiting_on_broker", lambda queue: 0)
    recovery.send_again()
    job = next_job()
    assert job is not None
    assert sent == [(job.pk, CPU)]


def test_hints_still_on_the_broker_are_not_sent_again(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run()
    monkeypatch.setattr("runs.jobs.send", lambda *_: pytest.fail("sent"))
    monkeypatch.setattr("runs.recovery._waiting_on_broker", lambda queue: 3)
    recovery.send_again()
    assert next_job() is not None


def test_waiting_work_starts_only_when_nothing_else_lives(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    def note(job_id: int, queue: str) -> bool:
        sent.append(queue)
        return True

    monkeypatch.setattr("runs.jobs.send", note)
    monkeypatch.setattr("runs.recovery._waiting_on_broker", lambda queue: 0)
    jobs.enqueue(JobKind.INSPECT, LATER)
    make_run(attempts=1)
    recovery.start_waiting_work()
    assert sent == []
    Job.objects.exclude(queue=LATER).update(state=JobState.DONE)
    recovery.start_waiting_work()
    assert sent == [LATER]


@pytest.mark.parametrize("kind", [JobKind.PREPARE, JobKind.ADVANCE, JobKind.BUILD, JobKind.EVALUATE, JobKind.ASK])
def test_a_trajectory_whose_job_vanished_is_moved_again(script: Script, kind: str) -> None:
    run = make_run(attempts=2)
    job = run_until(kind)
    Job.objects.filter(pk=job.pk).delete()
    recovery.revive_stalled()
    drain()
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert list(Attempt.objects.order_by("number").values_list("number", flat=True)) == [1, 2]
