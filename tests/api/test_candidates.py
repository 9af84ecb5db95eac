"""Posting candidates and reading what they came to: rights, idempotency, bad input, figures of queries."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agent.feedback.record import Advice, Finding, Severity
from agent.steps import Profiled
from kernels.harness.evaluation import Outcome
from kernels.records import to_json
from runs import engine
from runs.api import answers, patience
from runs.models import Attempt, Event, Run, Submission
from tests.api.asking import Asker, name_of
from tests.api.worlds import text, trajectory_of
from tests.runs.worlds import Script, drain, failed, passed


def post(asker: Asker, run: Run, number: int = 1, *, key: str | None = None, **fields: Any) -> Any:
    form = {"text": text(number), **fields}
    return asker.post(f"/trajectories/{trajectory_of(run).pk}/candidates", form, key=key)


def test_from_a_post_to_its_result(as_alice: Asker, run: Run, script: Script) -> None:
    script.results = [passed(2e-5)]
    asked: dict[str, Any] = {"parent": 1, "change": "tile(32, 64, 64)", "hypothesis": "fits", "predicted": 1.4}
    answer = post(as_alice, run, **asked)
    assert answer.status_code == 201
    posted = answer.json()
    assert (posted["state"], posted["attempt"]) == ("waiting", None)
    drain()
    found = as_alice.get(f"/candidates/{posted['id']}", wait=5).json()
    attempt = found["attempt"]
    assert (found["state"], attempt["number"], attempt["outcome"]) == ("ended", 2, "passed")
    assert (attempt["parent"], attempt["predicted"], attempt["hypothesis"]) == (1, 1.4, "fits")
    assert attempt["text"] == text(1)
    assert attempt["time_s"] == 2e-5
    assert attempt["speedup"] == pytest.approx(1e-4 / 2e-5)
    assert attempt["gap"] == pytest.approx(20)
    assert attempt["new_best"]


def test_what_was_not_measured_is_null(as_alice: Asker, run: Run, script: Script) -> None:
    script.results = [failed(Outcome.CRASH, "signal 11")]
    posted = post(as_alice, run).json()
    drain()
    attempt = as_alice.get(f"/candidates/{posted['id']}").json()["attempt"]
    assert (attempt["outcome"], attempt["detail"]) == ("crash", "signal 11")
    assert attempt["time_s"] is attempt["speedup"] is attempt["gap"] is None


def test_findings_are_those_of_the_log(as_alice: Asker, run: Run) -> None:
    posted = post(as_alice, run).json()
    drain()
    advice = Advice("a smaller tile", stage="y", knob="tile", args=(64, 64, 64), now=(96, 64, 64))
    first = Finding("spills", Severity.CRITICAL, "the accumulators spill", (advice,), gain=1.2)
    event = Event.objects.get(kind="measured", record__number=2)
    event.record["feedback"] = [to_json(first)]
    event.save()
    path = f"/candidates/{posted['id']}"
    assert as_alice.get(path).json()["attempt"]["findings"] == [to_json(first)]
    second = Finding("occupancy", Severity.NOTE, "few blocks fit", ())
    engine.append(trajectory_of(run), Profiled(2, (second,)))
    assert as_alice.get(path).json()["attempt"]["findings"] == [to_json(second)]


@pytest.mark.parametrize(("who", "status"), [("as_bob", 403), ("as_maya", 201), ("as_nobody", 401)])
def test_who_may_post_to_a_run_of_alices(request: pytest.FixtureRequest, run: Run, who: str, status: int) -> None:
    asker = request.getfixturevalue(who)
    answer = post(asker, run)
    assert answer.status_code == status
    assert Submission.objects.count() == (status == 201)
    if status == 403:
        assert "belongs to alice" in answer.json()["detail"]


def test_members_read_what_they_may_not_change(as_bob: Asker, run: Run) -> None:
    form = as_bob.get(f"/runs/{run.pk}").json()
    assert (form["owner"], form["yours"]) == ("alice", False)
    assert as_bob.post(f"/runs/{run.pk}/cancel").status_code == 403
    assert as_bob.post(f"/trajectories/{trajectory_of(run).pk}/end", {"words": "x"}).status_code == 403
    run.refresh_from_db()
    assert run.cancel_requested is None


def test_the_same_key_gets_the_same_answer_and_makes_one_candidate(as_alice: Asker, run: Run) -> None:
    first, again = post(as_alice, run, key="k1"), post(as_alice, run, key="k1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Submission.objects.count() == 1
    other = post(as_alice, run, 2, key="k1")
    assert (other.status_code, name_of(other)) == (422, "key-reused")


def test_a_failed_post_leaves_no_key_behind(as_alice: Asker, run: Run) -> None:
    assert post(as_alice, run, key="k", parent=9).status_code == 422
    assert post(as_alice, run, key="k").status_code == 201


def test_keys_are_each_persons_own(as_alice: Asker, as_maya: Asker, run: Run) -> None:
    assert post(as_alice, run, 1, key="k").status_code == 201
    assert post(as_maya, run, 2, key="k").status_code == 201


@pytest.mark.parametrize("key", ["x" * 101, "a\x01b"])
def test_a_key_has_a_form(as_alice: Asker, run: Run, key: str) -> None:
    assert post(as_alice, run, key=key).status_code == 422


@pytest.mark.parametrize(
    ("form", "name", "said"),
    [
        ({}, "request-not-valid", "body.text"),
        ({"text": 5}, "request-not-valid", "body.text"),
        ({"text": "x", "languge": "mu"}, "request-not-valid", "body.languge"),
        ({"text": "x", "language": "rust"}, "request-not-valid", "body.language"),
        ({"text": "x", "parent": 0}, "request-not-valid", "body.parent"),
        ({"text": "x", "predicted": -1}, "request-not-valid", "body.predicted"),
        ({"text": "x", "change": "a\0b"}, "request-not-valid", "NUL bytes"),
        ({"text": "x", "hypothesis": "y" * 4001}, "request-not-valid", "body.hypothesis"),
        ({"text": "x", "hypothesis": "\ud800"}, "request-not-valid", "body.hypothesis"),
        ({"text": "a\0b"}, "source-refused", "NUL bytes"),
        ({"text": "  "}, "source-refused", "is empty"),
        ({"text": "a\ud800"}, "source-refused", "surrogate"),
        ({"text": "x", "language": "cu"}, "language-elsewhere", "does not run on host"),
        ({"text": "x", "parent": 7}, "parent-unknown", "no attempt 7"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_taken(
    as_alice: Asker, run: Run, form: dict[str, Any], name: str, said: str
) -> None:
    answer = as_alice.post(f"/trajectories/{trajectory_of(run).pk}/candidates", form)
    assert (answer.status_code, name_of(answer)) == (422, name)
    assert said in answer.json()["detail"]
    assert not Submission.objects.exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "body: Field required"),
        (b"{", "no JSON object"),
        (b"[1]", "a list"),
        (b"\xff\xfe\x00", "codec"),
        (b'{"text": NaN}', "NaN"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_body_that_is_no_object_is_refused(as_alice: Asker, run: Run, body: bytes, said: str) -> None:
    answer = as_alice.post(f"/trajectories/{trajectory_of(run).pk}/candidates", body)
    assert answer.status_code in (400, 422)
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("size", [answers.BODY_BYTES + 1, 5 * 2**20])
def test_a_body_that_is_too_large_is_refused_clearly(as_alice: Asker, run: Run, size: int) -> None:
    answer = as_alice.post(f"/trajectories/{trajectory_of(run).pk}/candidates", b" " * size)
    assert (answer.status_code, name_of(answer)) == (413, "body-too-large")
    assert "2,097,152 bytes" in answer.json()["detail"]


def test_what_does_not_fit_how_things_stand(as_alice: Asker, run: Run) -> None:
    first = post(as_alice, run)
    again = post(as_alice, run)
    assert (again.status_code, name_of(again)) == (409, "already-tried")
    assert f"candidate {first.json()['id']}" in again.json()["detail"]
    busy = as_alice.post(f"/trajectories/{trajectory_of(run).pk}/end", {"words": "enough"})
    assert (busy.status_code, name_of(busy)) == (409, "trajectory-busy")
    drain()
    ended = as_alice.post(f"/trajectories/{trajectory_of(run).pk}/end", {"words": "enough"}).json()
    assert (ended["state"], ended["finish_reason"], ended["attempts_left"]) == ("done", "agent_done", 0)
    over = post(as_alice, run, 2)
    assert (over.status_code, name_of(over)) == (409, "trajectory-over")


def test_a_candidate_whose_trajectory_ended_first_was_dropped(as_alice: Asker, run: Run) -> None:
    key = post(as_alice, run).json()["id"]
    later = post(as_alice, run, 2).json()["id"]
    assert as_alice.get(f"/trajectories/{trajectory_of(run).pk}").json()["waiting"] == [later]
    assert as_alice.post(f"/runs/{run.pk}/cancel").json()["state"] == "cancelled"
    states = [as_alice.get(f"/candidates/{pk}").json()["state"] for pk in (key, later)]
    assert states == ["dropped", "dropped"]


def test_waiting_ends_with_the_news(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("runs.api.patience.time.sleep", slept.append)
    seen = iter([1, 2, 3, 4])
    assert patience.patiently(lambda: next(seen), lambda value: value == 3, 10.0) == 3
    assert len(slept) == 2


def test_more_than_may_wait_are_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.api.patience.time.sleep", lambda seconds: pytest.fail("it waited"))
    for _ in range(patience.AT_ONCE):
        assert patience._places.acquire(blocking=False)
    try:
        assert patience.patiently(lambda: 1, lambda value: False, 10.0) == 1
    finally:
        for _ in range(patience.AT_ONCE):
            patience._places.release()


def test_the_history_is_paged_and_takes_a_fixed_number_of_queries(as_alice: Asker, run: Run) -> None:
    path = f"/trajectories/{trajectory_of(run).pk}/attempts"
    with CaptureQueriesContext(connection) as few:
        as_alice.get(path)
    for number in (1, 2, 3):
        post(as_alice, run, number)
    drain()
    with CaptureQueriesContext(connection) as many:
        page = as_alice.get(path).json()
    assert len(many) == len(few) <= 5
    assert [item["number"] for item in page["items"]] == [1, 2, 3, 4]
    first = as_alice.get(path, limit=3).json()
    assert ([item["number"] for item in first["items"]], first["next"]) == ([1, 2, 3], 3)
    rest = as_alice.get(path, limit=3, after=first["next"]).json()
    assert ([item["number"] for item in rest["items"]], rest["next"]) == ([4], None)


def test_records_and_code_of_an_attempt(as_alice: Asker, run: Run) -> None:
    path = f"/trajectories/{trajectory_of(run).pk}/attempts"
    one = as_alice.get(f"{path}/1", wait=1).json()
    assert one["change"] == "translated program"
    record = as_alice.get(f"{path}/1/evaluation").json()
    assert record["record"]["outcome"] == "passed"
    assert as_alice.get(f"{path}/1/code").json() == {"attempt": 1, "target": "host", "units": []}
    Attempt.objects.update(evaluation=None, build=None)
    assert as_alice.get(f"{path}/1/evaluation").status_code == 404
    assert as_alice.get(f"{path}/1/code").status_code == 404
    assert as_alice.get(f"{path}/9").status_code == 404
