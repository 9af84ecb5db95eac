"""Limits and rates of a run's model calls, and what a worker's death at any point costs: nothing twice."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from runs import desk, jobs
from runs.execution import run_job
from runs.models import Attempt, Event, Job, LlmCall, Run, Trajectory
from runs.states import JobKind, JobState, RunState
from tests.agent.model_server import (
    ModelServer,
    Reply,
    answer,
    serving,
)
from tests.runs.model_worlds import Writer, configure, model_run, program
from tests.runs.worlds import Script, drain, next_job


def test_a_token_limit_stops_before_it_is_passed_over_all_problems(
    script: Script, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(Writer()) as server:
        configure(settings, monkeypatch, server.base_url)
        with serving(answer(program(99))) as probe:
            configure(settings, monkeypatch, probe.base_url)
            model_run(attempts=2)
            drain()
        worst = LlmCall.objects.get()
        most = len(json.dumps(probe.seen[0], ensure_ascii=False).encode()) + 500 + 256
        limit = most + 4 * 1100
        configure(settings, monkeypatch, server.base_url)
        run = model_run(attempts=40, problems=2, token_limit=limit)
        drain()
    assert worst.counted_tokens == 1100
    reasons = {one.finish_reason for one in run.trajectories.all()}
    assert reasons == {"budget_spent"}
    spent = sum(call.counted_tokens for call in LlmCall.objects.filter(run=run))
    assert 0 < spent <= limit
    words = run.trajectories.earliest("pk").words
    assert f"of the run's {limit:,} tokens are left" in words


def test_a_cost_limit_stops_before_it_is_passed(
    script: Script, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(Writer()) as server:
        configure(settings, monkeypatch, server.base_url)
        run = model_run(attempts=40, cost_limit=0.08)
        drain()
    spent = sum(call.cost or 0 for call in LlmCall.objects.filter(run=run))
    assert 0 < spent <= 0.08
    assert run.trajectories.get().finish_reason == "budget_spent"
    assert "USD" in run.trajectories.get().words


def test_a_cost_limit_without_a_price_calls_nobody(
    script: Script, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(Writer()) as server:
        configure(settings, monkeypatch, server.base_url, prices=None)
        model_run(attempts=5, cost_limit=1.0)
        drain()
    assert not server.seen
    assert "has no price" in Trajectory.objects.get().words


def test_a_call_that_nobody_finished_counts_as_paid(
    script: Script, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker dies between the request and its answer: the money may be gone."""
    with ModelServer(Writer()) as server:
        configure(settings, monkeypatch, server.base_url)
        run = model_run(attempts=3)
        with monkeypatch.context() as dying:
            dying.setattr("agent.llm.client.send", _die)
            _drain_to(JobKind.ASK)
            with pytest.raises(KeyboardInterrupt):
                _do_next()
        lost = LlmCall.objects.get()
        assert lost.finished is None
        assert lost.counted_tokens > 500
        _requeue()
        drain()
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert Attempt.objects.count() == 3


def _die(*_: object) -> bytes:
    raise KeyboardInterrupt


def _do_next() -> None:
    job = next_job()
    assert job is not None
    run_job(job.pk, "test worker")


def _drain_to(kind: JobKind) -> Job:
    """Do jobs until one of this kind comes next."""
    for _ in range(100):
        job = next_job()
        assert job is not None
        if job.kind == kind:
            return job
        run_job(job.pk, "test worker")
    raise AssertionError(f"no {kind}")


def _requeue() -> None:
    """What the reaper does with the job of a worker that died."""
    Job.objects.filter(state=JobState.CLAIMED).update(state=JobState.QUEUED, token="")


@pytest.mark.parametrize("where", ["runs.desk.RowsDesk.close", "runs.engine.append", "runs.jobs.settling"])
def test_an_answer_that_was_stored_is_never_paid_twice(
    script: Script, settings: Any, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The worker dies at each boundary between the answer and its event, and the job is done again."""
    with ModelServer(Writer()) as server:
        configure(settings, monkeypatch, server.base_url)
        run = model_run(attempts=3)
        _drain_to(JobKind.ASK)
        with monkeypatch.context() as dying:
            dying.setattr(where, _after_the_answer if where.endswith("close") else _die)
            with pytest.raises(KeyboardInterrupt):
                _do_next()
        assert not Event.objects.filter(kind="answered").exists()
        asked = len(server.seen)
        _requeue()
        drain()
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert [attempt.number for attempt in Attempt.objects.order_by("number")] == [1, 2, 3]
    assert asked == 1
    assert len(server.seen) == 2, "one request for each attempt that a model wrote"
    first = Event.objects.filter(kind="answered").earliest("sequence")
    assert first.record["usage"]["calls"] == 1


_close = desk.RowsDesk.close


def _after_the_answer(self: desk.RowsDesk, call: Any) -> None:
    """Store the answer, and die."""
    _close(self, call)
    raise KeyboardInterrupt


def test_a_cancelled_run_gives_up_its_call(script: Script, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_ASK_EVERY_S", 0.0)
    with ModelServer(lambda _: Reply(b"{}", hang_s=20)) as server:
        configure(settings, monkeypatch, server.base_url, timeout_s=30)
        run = model_run(attempts=3)
        _drain_to(JobKind.ASK)
        Run.objects.filter(pk=run.pk).update(cancel_requested=run.created)
        _do_next()
    run.refresh_from_db()
    assert run.state == RunState.CANCELLED
    assert not Event.objects.filter(kind="answered").exists()


def test_rates_are_shared_by_all_who_ask(script: Script, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    def pause(self: object, seconds: float) -> None:
        waited.append(seconds)
        LlmCall.objects.update(started=timezone.now() - timedelta(seconds=61))

    monkeypatch.setattr("agent.llm.trying.Conversation._pause", pause)
    with ModelServer(Writer()) as server:
        configure(settings, monkeypatch, server.base_url, requests_per_minute=2)
        model_run(attempts=6)
        drain()
    assert Attempt.objects.count() == 6
    assert len(waited) == 2
    assert all(50 < seconds <= 60 for seconds in waited)
