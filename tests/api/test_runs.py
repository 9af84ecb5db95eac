"""Runs through the API, and the document: it validates, and every route was asked."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from openapi_spec_validator import validate

from runs import tokens
from runs.api_models import Scope
from runs.models import Job, Run
from runs.roles import Role
from runs.states import JobKind
from tests.api.asking import Asker, document, name_of
from tests.api.worlds import external_run, text, trajectory_of
from tests.runs.worlds import Script, drain, make_problem
from tests.web import gallery
from tests.web.people_rows import member


def test_a_run_is_started_with_its_problems_in_order(as_alice: Asker, script: Script) -> None:
    for number in (1, 2):
        make_problem(number)
    answer = as_alice.post("/runs", {"problems": ["own/2", "own/1"], "attempts": 7, "epsilon": 0.25, "patience": 3})
    assert answer.status_code == 201
    form = answer.json()
    assert (form["owner"], form["proposer"], form["controller"], form["attempts"]) == (
        "alice",
        "external",
        "flat",
        7,
    )
    assert [item["problem"] for item in form["trajectories"]] == ["own/2", "own/1"]
    assert form["title"] == "2 gemm and 1 more"
    run = Run.objects.get()
    assert (run.epsilon, run.patience, run.steering) == (0.25, 3, False)
    assert Job.objects.filter(kind=JobKind.PREPARE).count() == 2
    drain()
    waits = as_alice.get(f"/trajectories/{form['trajectories'][0]['id']}").json()
    assert (waits["waits_for_post"], waits["attempts_left"], waits["attempts_done"]) == (True, 6, 1)
    assert waits["seed_program"].startswith("program gemm")
    assert waits["best"] == 1


def test_the_same_start_with_a_key_starts_one_run(as_alice: Asker, script: Script) -> None:
    make_problem(1)
    answers = [as_alice.post("/runs", {"problems": ["own/1"]}, key="start") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"problems": []}, "body.problems"),
        ({"problems": ["own/1", "own/9"]}, "there is no problem 'own/9'"),
        ({"problems": ["own/1"], "attempts": 0}, "body.attempts"),
        ({"problems": ["own/1"], "controller": "mantis"}, "tree, flat or mi would be right"),
        ({"problems": ["own/1"], "controller": "magic"}, "body.controller: unknown; one of tree, flat"),
        ({"problems": ["own/1"], "tolerance": "loose"}, "one of strict, kernelbench"),
        ({"problems": ["own/1"], "target": "sm_1"}, "body.target"),
        ({"problems": ["own/1"], "title": "a\0"}, "NUL bytes"),
        ({"problems": ["own/1\0"]}, "NUL bytes"),
        ({"problems": ["own/1", "a\ud800"]}, "surrogate"),
        ({"problems": ["own/1"], "proposer": "magic"}, "body.proposer: unknown; one of search, external"),
        ({"problems": ["own/1"], "proposer": "search", "representation": "py"}, "body.representation"),
        ({"problems": ["own/1"], "attempts": 4, "patience": 5}, "body.patience: w is 5, but there are 4 attempts"),
        ({"problems": ["own/1"], "token_limit": 9}, "body.token_limit: only a model takes tokens"),
        ({"problems": ["own/1"], "baselines": ["fast"]}, "body.baselines: unknown; some of"),
        ({"problems": ["own/1"], "order": "random"}, "body.order: unknown; one of headroom, listed"),
        ({"problems": ["own/1"], "shape": "5x5"}, "body.shape: not three whole numbers"),
        ({"problems": ["own/1"], "seed": -1}, "body.seed"),
        ({"problems": ["own/1"], "speed": 1}, "body.speed"),
    ],
)
def test_a_run_that_cannot_be_started_is_not(
    as_alice: Asker, script: Script, form: dict[str, Any], said: str
) -> None:
    make_problem(1)
    answer = as_alice.post("/runs", form)
    assert (answer.status_code, name_of(answer)) == (422, "request-not-valid")
    assert said in answer.json()["detail"]
    assert not Run.objects.exists()


def test_every_field_that_is_wrong_is_named(as_alice: Asker, script: Script) -> None:
    make_problem(1)
    answer = as_alice.post("/runs", {"problems": ["own/1"], "controller": "magic", "tolerance": "loose"})
    assert {field["where"] for field in answer.json()["fields"]} == {"body.controller", "body.tolerance"}
    assert "2 of the request's fields are wrong" in answer.json()["detail"]


def test_a_search_is_launched_with_all_that_the_form_has(as_alice: Asker, script: Script) -> None:
    for number in (1, 2):
        make_problem(number)
    form = {
        "problems": ["own/2", "own/1"], "title": "Nightly", "proposer": "search", "controller": "flat", "attempts": 3,
        "pool": 5, "epsilon": 0.07, "patience": 2, "seed": 9, "steering": False, "memory": False,
        "tolerance": "kernelbench", "order": "listed", "baselines": ["compile"],
    }  # fmt: skip
    answer = as_alice.post("/runs", form)
    assert answer.status_code == 201
    run = Run.objects.get()
    assert (run.title, run.proposer, run.controller, run.attempts) == ("Nightly", "search", "flat", 3)
    assert (run.pool, run.epsilon, run.patience, run.seed) == (5, 0.07, 2, 9)
    assert (run.steering, run.memory, run.tolerance, run.order) == (False, False, "kernelbench", "listed")
    assert run.baselines == "eager,compile"
    said = answer.json()
    assert [item["problem"] for item in said["trajectories"]] == ["own/2", "own/1"]
    assert (said["seed"], said["steering"], said["grid"], said["representation"]) == (9, False, None, "mu")
    drain()
    assert as_alice.get(f"/runs/{run.pk}").json()["state"] == "done"


def test_what_is_left_out_suits_who_writes(as_alice: Asker, script: Script) -> None:
    make_problem(1)
    as_alice.post("/runs", {"problems": ["own/1"], "proposer": "search"})
    as_alice.post("/runs", {"problems": ["own/1"]})
    search, external = Run.objects.order_by("pk")
    assert (search.controller, search.steering, search.order, search.baselines) == (
        "tree",
        True,
        "headroom",
        "eager",
    )
    assert (external.controller, external.steering, external.order) == ("flat", False, "listed")
    assert search.title == external.title == "1 gemm"


def test_a_program_to_begin_with_is_tried_in_the_translated_ones_place(as_alice: Asker, script: Script) -> None:
    make_problem(1)
    as_alice.post("/runs", {"problems": ["own/1"], "proposer": "search", "attempts": 1, "seed_program": text(2)})
    trajectory = Run.objects.get().trajectories.get()
    assert (trajectory.seed_program, trajectory.seed_language) == (text(2), "mu")


def test_viewers_launch_nothing(script: Script) -> None:
    make_problem(1)
    vera = Asker(tokens.make(member("vera", Role.VIEWER), "test", Scope.SUBMIT, 1)[1])
    assert vera.post("/runs", {"problems": ["own/1"], "proposer": "search"}).status_code == 403
    assert vera.post("/grids", {"problems": ["own/1"], "seeds": [1, 2]}).status_code == 403
    assert vera.post("/grids/look", {"problems": ["own/1"], "seeds": [1, 2]}).status_code == 403
    assert not Run.objects.exists()


def test_runs_are_paged_newest_first_and_filtered(as_alice: Asker, alice: User) -> None:
    bob = gallery.person("bob")
    runs = [gallery.run(bob if number == 2 else alice, f"run {number}") for number in range(4)]
    first = as_alice.get("/runs", limit=3).json()
    assert [item["id"] for item in first["items"]] == [run.pk for run in reversed(runs[1:])]
    rest = as_alice.get("/runs", limit=3, before=first["next"]).json()
    assert ([item["id"] for item in rest["items"]], rest["next"]) == ([runs[0].pk], None)
    assert [item["id"] for item in as_alice.get("/runs", owner="bob").json()["items"]] == [runs[2].pk]
    assert as_alice.get("/runs", state="failed").json()["items"] == []


def test_a_run_takes_as_many_queries_for_many_problems_as_for_one(as_alice: Asker, alice: User) -> None:
    one, many = gallery.near_sol(alice), gallery.huge(alice, 12, 2)
    as_alice.get("/me")
    counts = []
    for run in (one, many):
        with CaptureQueriesContext(connection) as captured:
            form = as_alice.get(f"/runs/{run.pk}").json()
        counts.append(len(captured))
    assert len(form["trajectories"]) == 12
    assert form["trajectories"][0]["speedup"] > 1
    assert counts[0] == counts[1] <= 3


def test_cancelling_twice_does_nothing_more(as_alice: Asker, run: Run) -> None:
    first, again = as_alice.post(f"/runs/{run.pk}/cancel"), as_alice.post(f"/runs/{run.pk}/cancel")
    assert first.json() == again.json()
    assert first.json()["state"] == "cancelled"
    assert as_alice.get("/runs/999").status_code == 404


def test_hostile_text_travels_as_data(as_alice: Asker, alice: User) -> None:
    run = gallery.hostile(alice)
    form = as_alice.get(f"/runs/{run.pk}").json()
    assert form["title"] == gallery.HOSTILE
    key = form["trajectories"][0]["id"]
    assert as_alice.get(f"/trajectories/{key}/attempts").json()["items"][0]["change"] == gallery.HOSTILE
    assert as_alice.get(f"/trajectories/{key}/attempts/1").status_code == 200


def test_the_document_is_valid_openapi_and_served_without_a_token(db: None) -> None:
    validate(document())
    served = Client().get("/api/v1/openapi.json")
    assert served.status_code == 200
    assert served.json() == document()


def test_every_route_says_how_it_fails_and_who_may_ask() -> None:
    for path, methods in document()["paths"].items():
        for method, told in methods.items():
            assert {"401", "404", "422", "429"} <= set(told["responses"]), path
            assert [list(each) for each in told["security"]] == [["Bearer"], ["Session"]], path
            assert (method == "get") or {"403", "409", "413"} <= set(told["responses"]), path
            assert told["description"], path


def test_every_route_answers_as_documented(as_alice: Asker, alice: User, script: Script) -> None:
    """Asker checks each answer's form; here each route is asked once, so that none is left out."""
    run = external_run(alice)
    drain()
    gallery.device()
    key = trajectory_of(run).pk
    posted = as_alice.post(
        f"/trajectories/{key}/candidates", {"text": "program p(x: f32[4]) -> f32[4]\n  return x"}
    )
    drain()
    for path in (
        "/me", "/problems", "/problems/own/1", "/problems/own/1/sol", "/problems/own/1/program", "/language", "/runs",
        f"/runs/{run.pk}", f"/trajectories/{key}", f"/candidates/{posted.json()['id']}",
        f"/trajectories/{key}/attempts", f"/trajectories/{key}/attempts/1",
        f"/trajectories/{key}/attempts/1/evaluation", f"/trajectories/{key}/attempts/1/code",
    ):  # fmt: skip
        assert as_alice.get(path).status_code < 500, path
    as_alice.post("/runs", {"problems": ["own/1"]})
    as_alice.post("/grids/look", {"problems": ["own/1"], "seeds": [1, 2]})
    grid = as_alice.post("/grids", {"problems": ["own/1"], "seeds": [1, 2]}).json()["id"]
    as_alice.get("/grids")
    as_alice.get(f"/grids/{grid}")
    as_alice.post(f"/trajectories/{key}/end", {"words": "enough"})
    for act in ("pause", "resume", "retry", "budget"):
        as_alice.post(f"/runs/{run.pk}/{act}", {})
    as_alice.get(f"/runs/{run.pk}/budget")
    as_alice.get(f"/runs/{run.pk}/changes")
    as_alice.post(f"/trajectories/{key}/stop")
    as_alice.post(f"/runs/{run.pk}/cancel")
    documented = {(method, path) for path, methods in document()["paths"].items() for method in methods}
    assert as_alice.used == documented


def test_an_unknown_address_is_answered_in_the_same_form(db: None) -> None:
    answer = Client().get("/api/v1/nothing/here")
    assert (answer.status_code, answer.json()["name"]) == (404, "nothing-here")
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/runs", "/me"])
def test_a_method_that_a_route_does_not_have_is_answered_in_the_same_form(db: None, path: str) -> None:
    answer = Client().delete(f"/api/v1{path}")
    assert (answer.status_code, answer.json()["name"]) == (405, "method-not-there")
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Allow"] in answer.json()["detail"]
    assert answer.headers["Allow"] == ("GET, POST" if path == "/runs" else "GET")


def test_a_mistake_of_ours_is_no_traceback(as_alice: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("runs.api.problem_routes.reference", breaks)
    answer = as_alice.client.get("/api/v1/language", headers=as_alice.headers)
    assert (answer.status_code, answer.json()["name"]) == (500, "broke-here")
    assert b"secret detail" not in answer.content
