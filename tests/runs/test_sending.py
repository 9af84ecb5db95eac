"""Hints and a broker that is not there."""

from __future__ import annotations

from typing import Any

import pytest
from kombu.exceptions import OperationalError

from runs import jobs
from runs.fleet import CPU
from runs.models import Job
from runs.states import JobKind


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A broker that answers nothing; the ids that somebody tried to send."""
    tried: list[int] = []

    def refuse(name: str, *, args: list[int], **_: Any) -> None:
        tried.extend(args)
        raise OperationalError("connection refused")

    monkeypatch.setattr("runs.jobs.current_app.send_task", refuse)
    monkeypatch.setattr(jobs._broker, "silent_until", 0.0)
    return tried


def test_a_dead_broker_is_no_error_and_the_job_stays_unsent(db: None, broker: list[int]) -> None:
    job = jobs.enqueue(JobKind.PREPARE, CPU)
    assert jobs.send(job.pk, CPU) is False
    assert broker == [job.pk]
    assert Job.objects.get(pk=job.pk).sent is None


def test_a_dead_broker_is_not_tried_again_at_once(db: None, broker: list[int]) -> None:
    made = [jobs.enqueue(JobKind.PREPARE, CPU) for _ in range(5)]
    assert [jobs.send(job.pk, CPU) for job in made] == [False] * 5
    assert broker == [made[0].pk]


def test_a_broker_that_is_back_is_used_again(db: None, broker: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    job = jobs.enqueue(JobKind.PREPARE, CPU)
    jobs.send(job.pk, CPU)
    monkeypatch.setattr(jobs._broker, "silent_until", 0.0)
    monkeypatch.setattr("runs.jobs.current_app.send_task", lambda *_, **__: None)
    assert jobs.send(job.pk, CPU) is True
    assert Job.objects.get(pk=job.pk).sent is not None
