"""Whose turn it is in a run of several problems, and the pool of attempts they share."""

from __future__ import annotations

import pytest

from runs import jobs, tasks, turns
from runs.execution import run_job
from runs.fleet import LATER
from runs.models import Attempt, Job, Run, Trajectory
from runs.states import JobKind, JobState
from tests.runs.worlds import Script, drain, make_run, passed


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.registration.worker_name", lambda: "test worker")


def waiting(run: Run) -> list[Job]:
    return list(Job.objects.filter(run=run, state=JobState.QUEUED).exclude(queue=LATER).order_by("pk"))


def prepared(script: Script, steering: bool = True) -> tuple[Run, list[Trajectory]]:
    """Three problems that were measured: the first near SOL, the last far from it, each with an ADVANCE that waits."""
    run = make_run(problems=3)
    Run.objects.filter(pk=run.pk).update(steering=steering)
    Job.objects.filter(run=run).update(state=JobState.DONE)
    found = list(run.trajectories.order_by("pk"))
    for trajectory, gap in zip(found, (1.05, 3.0, 20.0), strict=True):
        trajectory.sol_s, trajectory.best_s, trajectory.attempts_done = 1e-6, gap * 1e-6, 4
        trajectory.save()
        jobs.enqueue(JobKind.ADVANCE, "cpu", trajectory=trajectory)
    return run, found


def test_a_hint_stands_for_the_job_with_the_most_headroom(script: Script) -> None:
    run, found = prepared(script)
    first = waiting(run)[0]
    chosen = turns.job_for(first.pk)
    assert chosen is not None
    assert Job.objects.get(pk=chosen).trajectory == found[2]


def test_without_steering_a_hint_stands_for_its_own_job(script: Script) -> None:
    run, _ = prepared(script, steering=False)
    for job in waiting(run):
        assert turns.job_for(job.pk) == job.pk


def test_there_are_as_many_turns_as_hints(script: Script) -> None:
    run, _ = prepared(script)
    done = []
    for hint in [job.pk for job in waiting(run)]:
        chosen = turns.job_for(hint)
        assert chosen is not None
        done.append(chosen)
        Job.objects.filter(pk=chosen).update(state=JobState.DONE)
    assert sorted(done) == sorted(set(done))
    assert not waiting(run)


def test_a_hint_for_nothing_that_waits_is_dropped(script: Script) -> None:
    run, _ = prepared(script)
    hint = waiting(run)[0].pk
    Job.objects.filter(run=run).update(state=JobState.DONE)
    assert turns.job_for(hint) is None
    assert turns.job_for(10**9) is None


def test_another_queue_and_another_run_are_left_alone(script: Script) -> None:
    run, found = prepared(script)
    other, _ = prepared(script)
    Job.objects.filter(trajectory=found[2]).update(queue="host")
    own, elsewhere = turns.job_for(waiting(run)[0].pk), {job.pk for job in waiting(other)}
    assert own is not None
    assert own not in elsewhere
    assert Job.objects.get(pk=own).trajectory == found[1]
    later = jobs.enqueue(JobKind.CROSS_BUILD, LATER, trajectory=found[0])
    assert turns.job_for(later.pk) == later.pk


def test_a_job_that_another_worker_took_first_is_not_the_end_of_the_hint(
    script: Script, worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, found = prepared(script)
    hints = [job.pk for job in waiting(run)]
    done: list[int] = []

    def run_job(job_id: int, name: str) -> bool:
        taken = len(done) == 0
        done.append(job_id)
        Job.objects.filter(pk=job_id).update(state=JobState.CLAIMED)
        return not taken

    monkeypatch.setattr(tasks, "run_job", run_job)
    tasks.execute(hints[0])
    assert [Job.objects.get(pk=key).trajectory for key in done] == [found[2], found[1]]


def test_a_pool_is_shared_and_never_exceeded(script: Script) -> None:
    run = make_run(problems=3, attempts=4)
    Run.objects.filter(pk=run.pk).update(pool=7)
    drain()
    run.refresh_from_db()
    assert Attempt.objects.filter(trajectory__run=run).count() == run.pool_used == 7
    assert run.state == "done"
    words = set(run.trajectories.values_list("finish_reason", "words"))
    assert ("attempts_spent", "the run's pool of 7 attempts is used up") in words


def test_a_pool_larger_than_every_budget_changes_nothing(script: Script) -> None:
    run = make_run(problems=2, attempts=2)
    Run.objects.filter(pk=run.pk).update(pool=100)
    drain()
    run.refresh_from_db()
    assert (Attempt.objects.filter(trajectory__run=run).count(), run.pool_used) == (4, 4)


def test_attempts_of_a_pool_go_where_the_headroom_is(script: Script) -> None:
    """Bound 1 µs: one problem stays at 1.02 µs, the other at 900 µs and more; each turn is one the policy gave."""
    run = make_run(problems=2, attempts=40)
    Run.objects.filter(pk=run.pk).update(pool=16)
    near = run.trajectories.order_by("pk")[0]
    for _ in range(200):
        hints = waiting(run)
        if not hints:
            break
        chosen = turns.job_for(hints[0].pk)
        assert chosen is not None
        script.results = [passed(1.02e-6 if Job.objects.get(pk=chosen).trajectory_id == near.pk else 9e-4)]
        run_job(chosen, "test worker")
    ours = near.attempts.count()
    assert 2 <= ours <= 4
    assert Attempt.objects.filter(trajectory__run=run).count() == 16
