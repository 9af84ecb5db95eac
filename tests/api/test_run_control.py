"""Pausing, other limits, retrying and stopping one problem through the API: by the owner, another, and nobody."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs import budgets
from runs.api import control_routes
from runs.models import Run, Trajectory
from runs.states import RunState, TrajectoryState
from tests.api.asking import Asker
from tests.runs.worlds import Script, drain, make_run

WRITES = (
    "runs/{run}/pause",
    "runs/{run}/resume",
    "runs/{run}/retry",
    "runs/{run}/budget",
    "trajectories/{key}/stop",
)


@pytest.fixture
def run(alice: User, script: Script) -> Run:
    return make_run(problems=2, attempts=2)


def test_a_run_is_paused_and_resumed(as_alice: Asker, run: Run) -> None:
    for _ in range(2):
        assert as_alice.post(f"/runs/{run.pk}/pause").json()["state"] == "paused"
    drain()
    assert as_alice.get(f"/runs/{run.pk}").json()["attempts_done"] == 0
    assert as_alice.post(f"/runs/{run.pk}/resume").json()["state"] == "queued"
    drain()
    assert as_alice.get(f"/runs/{run.pk}").json()["state"] == "done"
    refused = as_alice.post(f"/runs/{run.pk}/pause")
    assert (refused.status_code, refused.json()["name"]) == (409, "run-over")
    told = as_alice.get(f"/runs/{run.pk}/changes").json()["items"]
    assert [(item["user"], item["words"]) for item in told] == [("alice", "resumed it"), ("alice", "paused it")]


def test_limits_are_changed_and_what_is_not_named_stays(as_alice: Asker, run: Run) -> None:
    drain()
    form = as_alice.post(f"/runs/{run.pk}/budget", {"attempts": 3, "patience": 3}).json()
    assert (form["state"], form["attempts"], form["patience"], form["epsilon"]) == ("running", 3, 3, None)
    assert (form["used_attempts"], form["used_pool"], form["used_cost"]) == (2, 4, None)
    drain()
    assert as_alice.post(f"/runs/{run.pk}/budget", {"patience": None}).json()["patience"] is None
    words = [item["words"] for item in as_alice.get(f"/runs/{run.pk}/changes").json()["items"]]
    assert words[-1] == "changed attempts a problem 2 → 3, w off → 3; 2 problems go on"


def test_limits_that_another_changes_at_the_same_time_both_stand(
    as_alice: Asker, alice: User, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(*_: Any) -> dict[str, str]:
        budgets.change(run, alice, {"patience": 3})
        return {}

    monkeypatch.setattr(control_routes, "limit_problems_of", meanwhile)
    form = as_alice.post(f"/runs/{run.pk}/budget", {"attempts": 5}).json()
    assert (form["attempts"], form["patience"]) == (5, 3)


@pytest.mark.parametrize(
    ("wanted", "status", "said"),
    [
        ({"attempts": 1}, 422, "less than the 2 used already"),
        ({"attempts": None}, 422, "a number of attempts"),
        ({"pool": 3}, 422, "less than the 4 used already"),
        ({"token_limit": 5}, 422, "only a model takes tokens and money"),
        ({"attempts": 2}, 409, "has these limits already"),
        ({}, 409, "has these limits already"),
        ({"attempt": 3}, 422, "body.attempt"),
    ],
)
def test_limits_that_cannot_be_are_refused_and_nothing_is_changed(
    as_alice: Asker, run: Run, wanted: dict[str, Any], status: int, said: str
) -> None:
    drain()
    answer = as_alice.post(f"/runs/{run.pk}/budget", wanted)
    assert answer.status_code == status
    assert said in answer.content.decode()
    assert as_alice.get(f"/runs/{run.pk}/changes").json() == {"items": []}


def test_one_problem_is_stopped(as_alice: Asker, run: Run) -> None:
    first = run.trajectories.order_by("pk")[0]
    form = as_alice.post(f"/trajectories/{first.pk}/stop").json()
    assert [item["state"] for item in form["trajectories"]] == ["cancelled", "queued"]
    assert form["trajectories"][0]["words"] == "stopped by alice"
    assert as_alice.post(f"/trajectories/{first.pk}/stop").status_code == 409
    drain()
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_what_failed_is_retried_and_nothing_else(as_alice: Asker, run: Run) -> None:
    drain()
    assert as_alice.post(f"/runs/{run.pk}/retry").json()["name"] == "nothing-to-retry"
    Trajectory.objects.filter(run=run).update(state=TrajectoryState.FAILED, error="x", words="y")
    Run.objects.filter(pk=run.pk).update(state=RunState.FAILED)
    assert as_alice.post(f"/runs/{run.pk}/retry").json()["state"] == "running"
    drain()
    assert as_alice.get(f"/runs/{run.pk}").json()["state"] == "done"


def test_others_and_nobody_change_nothing(as_bob: Asker, run: Run) -> None:
    key = run.trajectories.order_by("pk")[0].pk
    for path in WRITES:
        address = "/" + path.format(run=run.pk, key=key)
        assert as_bob.post(address, {}).status_code == 403, path
        assert Asker(None).post(address, {}).status_code == 401, path
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    assert as_bob.get(f"/runs/{run.pk}/budget").json()["attempts"] == 2


def test_a_token_that_may_only_read_changes_nothing(as_reader: Asker, run: Run) -> None:
    for path in WRITES:
        address = "/" + path.format(run=run.pk, key=run.trajectories.all()[0].pk)
        assert as_reader.post(address, {}).status_code == 403
