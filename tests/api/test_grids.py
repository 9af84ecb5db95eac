"""Grids through the API: looked at, launched once, listed and read."""

from __future__ import annotations

from typing import Any

import pytest

from runs.models import Grid, Run
from tests.api.asking import Asker, name_of
from tests.runs.worlds import Script, make_problem

AXES: dict[str, Any] = {"controllers": ["tree", "flat"], "seeds": [1, 2, 3], "both_steerings": True}


@pytest.fixture
def form(script: Script) -> dict[str, Any]:
    make_problem(1)
    make_problem(2)
    return {"problems": ["own/1", "own/2"], "attempts": 5, "title": "Try", "order": "listed"}


def test_a_grid_is_looked_at_and_nothing_is_stored(as_alice: Asker, form: dict[str, Any]) -> None:
    plan = as_alice.post("/grids/look", {**form, **AXES}).json()
    assert (plan["runs"], plan["attempts"], plan["too_large"], plan["left_out"]) == (12, 120, False, [])
    assert {"controller": "flat", "proposer": "search", "seed": 3, "steering": False} in plan["cells"]
    assert not Run.objects.exists()
    assert not Grid.objects.exists()


def test_a_grid_is_launched_once_however_often_it_is_posted(as_alice: Asker, form: dict[str, Any]) -> None:
    first, second = (as_alice.post("/grids", {**form, **AXES}, key="nightly") for _ in range(2))
    assert first.status_code == 201
    assert first.json() == second.json()
    made = first.json()
    assert (made["count"], made["left_out"], made["title"], made["owner"]) == (12, [], "Try", "alice")
    cells = {(run["controller"], run["seed"], run["steering"]) for run in made["runs"]}
    assert cells == {(c, s, on) for c in ("tree", "flat") for s in (1, 2, 3) for on in (True, False)}
    assert {run["grid"] for run in made["runs"]} == {made["id"]}
    assert {run["problems"] for run in made["runs"]} == {2}
    read = as_alice.get(f"/grids/{made['id']}").json()
    assert read["runs"] == made["runs"]


def test_combinations_that_cannot_work_are_left_out_and_said(as_alice: Asker, form: dict[str, Any]) -> None:
    made = as_alice.post("/grids", {**form, "controllers": ["tree", "mi"]}).json()
    assert made["count"] == 1
    assert "measure–implement with search" in made["left_out"][0]
    none = as_alice.post("/grids", {**form, "controllers": ["mi", "mantis"]})
    assert (none.status_code, name_of(none)) == (422, "request-not-valid")
    assert Grid.objects.count() == 1


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({}, "nothing is varied"),
        ({"seeds": list(range(1, 22))}, "body.seeds"),
        ({"seeds": [-1]}, "body.seeds"),
        ({"controllers": ["magic"]}, "body.controllers: magic is no controller"),
        ({"proposers": ["external", "search"]}, "body.proposers: external is no proposer here"),
        ({"proposer": "external", "seeds": [1, 2]}, "body.proposer: nobody would post to so many runs"),
        ({"seeds": [1], "tolerance": "loose"}, "body.tolerance"),
        ({"seeds": [1], "problems": ["own/9"]}, "there is no problem 'own/9'"),
        ({"controllers": ["tree", "flat"], "seeds": list(range(20)), "both_steerings": True}, "more than the 60"),
    ],
)
def test_what_is_no_grid_is_refused_in_words(
    as_alice: Asker, form: dict[str, Any], axes: dict[str, Any], said: str
) -> None:
    answer = as_alice.post("/grids", {**form, **axes})
    assert answer.status_code == 422
    assert said in answer.json()["detail"]
    assert not Run.objects.exists()


def test_grids_are_paged_newest_first(as_alice: Asker, form: dict[str, Any]) -> None:
    made = [as_alice.post("/grids", {**form, "seeds": [number]}).json()["id"] for number in range(3)]
    page = as_alice.get("/grids", limit=2).json()
    assert [item["id"] for item in page["items"]] == made[:0:-1]
    assert page["next"] == made[1]
    rest = as_alice.get("/grids", limit=2, before=page["next"]).json()
    assert ([item["id"] for item in rest["items"]], rest["next"]) == (made[:1], None)
    assert as_alice.get("/grids/999").status_code == 404
