"""Grids: what one would make is shown first, then launched once; and the page with its runs side by side."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.models import Problem
from runs.grid_form import seeds_of
from runs.models import Grid, Run, Trajectory
from tests.web import gallery
from tests.web.reading import html, text_of, words
from tests.web.rows import problems

GOOD: dict[str, Any] = {
    "title": "Try", "target": "host", "policy": "strict", "controller": "tree", "proposer": "search",
    "attempts": "12", "epsilon": "25", "patience": "", "pool": "", "seed": "7", "steering": "on",
    "tolerance": "strict", "order": "headroom", "once": "abc",
}  # fmt: skip
AXES: dict[str, Any] = {"grid_controllers": ["tree", "flat"], "grid_seeds": "1-3", "grid_steering": "both"}


@pytest.fixture
def three(db: None) -> list[Problem]:
    return problems(3)


def form(three: list[Problem], **more: Any) -> dict[str, Any]:
    return {**GOOD, "problems": [p.pk for p in three], **more}


def test_a_grid_is_shown_before_it_is_launched(as_alice: Client, three: list[Problem]) -> None:
    answer = as_alice.post("/runs/new/", form(three, **AXES, grid="look"))
    assert answer.status_code == 200
    text = text_of(answer)
    assert "12 runs, 432 attempts at most , 36 a run" in text
    assert "Launch 12 runs" in text
    assert "flat, search, seed 3, steering off" in text
    assert not Run.objects.exists()


def test_the_live_summary_shows_it_too(as_alice: Client, three: list[Problem]) -> None:
    assert "12 runs, 432 attempts at most" in text_of(as_alice.get("/runs/new/summary/", form(three, **AXES)))
    assert "As a grid" not in text_of(as_alice.get("/runs/new/summary/", form(three)))


def test_a_grid_is_launched_once_however_often_its_form_comes(as_alice: Client, three: list[Problem]) -> None:
    sent = form(three, **AXES, grid="launch")
    first, second = (as_alice.post("/runs/new/", sent).headers["Location"] for _ in range(2))
    grid = Grid.objects.get()
    assert first == second == f"/grids/{grid.pk}/"
    assert Run.objects.count() == 12
    assert Trajectory.objects.count() == 36
    cells = set(Run.objects.values_list("controller", "seed", "steering"))
    assert cells == {(c, s, on) for c in ("tree", "flat") for s in (1, 2, 3) for on in (True, False)}
    as_alice.post("/runs/new/", {**sent, "attempts": "13"})
    assert Grid.objects.count() == 2, "another form is another grid"


def test_what_cannot_go_together_is_left_out_by_name(as_alice: Client, three: list[Problem]) -> None:
    text = text_of(as_alice.post("/runs/new/", form(three, grid_controllers=["tree", "mi"], grid="look")))
    assert "1 run, 36 attempts at most" in text
    assert "1 combination left out" in text
    assert "measure–implement with search:" in text


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({"grid_controllers": ["tree", "flat"], "grid_seeds": "1-20", "grid_steering": "both"}, "60 runs at most"),
        ({"grid_seeds": "1-21"}, "20 at most"),
        ({"grid_seeds": "one"}, "is no seed; numbers with commas"),
        ({"grid_controllers": ["magic"]}, "magic is no controller"),
        ({"grid_proposers": ["external"]}, "external is no proposer here"),
    ],
)
def test_a_grid_that_cannot_be_is_refused_and_nothing_is_launched(
    as_alice: Client, three: list[Problem], axes: dict[str, Any], said: str
) -> None:
    answer = as_alice.post("/runs/new/", form(three, **axes, grid="launch"))
    assert answer.status_code == 422
    assert said in text_of(answer)
    assert not Run.objects.exists()


def test_a_grid_of_nothing_is_not_launched(as_alice: Client, three: list[Problem]) -> None:
    assert as_alice.post("/runs/new/", form(three, grid="launch")).status_code == 422
    assert not Run.objects.exists()


def test_the_grid_s_page_has_its_runs_side_by_side(
    as_alice: Client, as_bob: Client, outsider: Client, alice: User, django_assert_max_num_queries: object
) -> None:
    grid = Grid.objects.create(title="Which controller", owner=alice)
    for controller in ("tree", "flat"):
        run = gallery.near_sol(alice)
        Run.objects.filter(pk=run.pk).update(grid=grid, controller=controller)
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        page = html(as_bob.get(f"/grids/{grid.pk}/"))
    text = words(page)
    assert "2 runs, 0 open" in text
    assert "Compare the chosen" in text
    assert 'action="/compare/"' in page
    assert page.count('name="r"') == 2
    assert "Controller" in text
    assert "Seed" not in text, "it is the same for both"
    assert f"in grid g-{grid.pk}" in text_of(as_alice.get(f"/runs/{Run.objects.latest('pk').pk}/"))
    assert "Which controller" in text_of(as_alice.get("/grids/"))
    assert as_alice.get("/grids/999/").status_code == 404
    assert outsider.get(f"/grids/{grid.pk}/").status_code == 302


def test_no_grids_yet_says_how_to_make_one(as_alice: Client) -> None:
    assert "No grid was launched yet" in text_of(as_alice.get("/grids/"))


def test_seeds_are_numbers_and_ranges_each_once() -> None:
    assert seeds_of("3, 1-2, 2") == (3, 1, 2)
    assert seeds_of("") == ()


def test_a_run_s_form_sent_twice_launches_one(as_alice: Client, three: list[Problem]) -> None:
    first, second = (as_alice.post("/runs/new/", form(three)).headers["Location"] for _ in range(2))
    assert first == second
    assert Run.objects.count() == 1
    as_alice.post("/runs/new/", form(three, once="def"))
    assert Run.objects.count() == 2


def test_problems_are_prepared_in_the_order_that_was_chosen(as_alice: Client, alice: User, db: None) -> None:
    made = problems(3)
    far = gallery.run(alice, "before")
    on = gallery.trajectory(far, made[2])
    gallery.attempt(on, 1, time_s=1e-3, eager_s=0.5)
    for order, expected in (("headroom", made[2].pk), ("listed", made[0].pk)):
        as_alice.post("/runs/new/", form(made, order=order, once=order))
        run = Run.objects.latest("pk")
        assert run.order == order
        first = run.jobs.order_by("pk")[0].trajectory
        assert first is not None
        assert first.problem_id == expected


def test_a_clone_takes_over_everything_and_says_from_what(as_alice: Client, alice: User) -> None:
    run = gallery.run(
        alice, "First", controller="flat", attempts=30, epsilon=0.1, patience=5, pool=40, seed=9, steering=False,
        memory=False, order="listed", shape="2x2x2", tolerance="kernelbench", baselines="eager,best", policy="tf32",
    )  # fmt: skip
    for one in problems(2):
        gallery.trajectory(run, one)
    page = html(as_alice.get(f"/runs/new/?from={run.pk}"))
    assert f"Cloned from r-{run.pk}" in words(page)
    for field, value in (("attempts", 30), ("epsilon", 10), ("patience", 5), ("pool", 40), ("seed", 9)):
        assert (
            f'name="{field}" inputmode="{"decimal" if field == "epsilon" else "numeric"}" autocomplete="off" '
            in page
        )
        assert f'value="{value}"' in page
    assert '<option value="listed" selected>' in page
    assert '<option value="kernelbench" selected>' in page
    assert 'name="steering">' in page
    assert 'name="memory">' in page
    sent = form(problems(2), cloned_from=run.pk)
    as_alice.post("/runs/new/", sent)
    made = Run.objects.latest("pk")
    assert made.cloned_from == run
    assert f"cloned from r-{run.pk}" in text_of(as_alice.get(f"/runs/{made.pk}/"))


def test_a_clone_whose_model_is_gone_says_so(as_alice: Client, alice: User) -> None:
    run = gallery.run(alice, "Old", proposer="openai:gone")
    assert "Its proposer, gone, is not configured here any more" in text_of(
        as_alice.get(f"/runs/new/?from={run.pk}")
    )
