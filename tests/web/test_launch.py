"""Launching: what is shown before, what is refused, what comes of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from kernels.models import Problem
from runs.models import Job, Run
from runs.states import JobKind
from tests.web import gallery
from tests.web.reading import html, part, text_of, words

GOOD = {
    "target": "host", "policy": "strict", "controller": "tree", "proposer": "search", "attempts": "12",
    "epsilon": "25", "patience": "", "seed": "0", "steering": "on", "tolerance": "strict", "title": "",
}  # fmt: skip


@pytest.fixture
def three(db: None) -> list[Problem]:
    return gallery.problems(3)


def test_a_valid_form_makes_a_run_and_goes_to_it(as_alice: Client, three: list[Problem], sent: list[int]) -> None:
    response = as_alice.post("/runs/new/", {**GOOD, "problems": [three[0].pk, three[1].pk]})
    run = Run.objects.get()
    assert (response.status_code, response.headers["Location"]) == (302, f"/runs/{run.pk}/")
    assert run.owner.get_username() == "alice"
    assert (run.epsilon, run.patience, run.steering, run.attempts) == (0.25, None, True, 12)
    assert run.title == "Gemm and 1 more"
    assert [job.kind for job in Job.objects.all()] == [JobKind.PREPARE, JobKind.PREPARE]


def test_problems_go_with_the_most_headroom_first(as_alice: Client, alice: User, three: list[Problem]) -> None:
    run = gallery.run(alice)
    for on, eager_s in zip(three, (0.002, 0.1, 0.01), strict=True):
        gallery.attempt(gallery.trajectory(run, on), 1, time_s=0.001, eager_s=eager_s)
    as_alice.post("/runs/new/", {**GOOD, "problems": [p.pk for p in three]})
    launched = Run.objects.exclude(pk=run.pk).get()
    order = list(launched.trajectories.order_by("pk").values_list("problem__slug", flat=True))
    assert order == ["own/2", "own/3", "own/1"]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("attempts", "0", "too small; 1 to 1,000"),
        ("attempts", "", "empty; 1 to 1,000"),
        ("attempts", "twelve", "not a whole number; 1 to 1,000"),
        ("epsilon", "-1", "below 0; 0 to 1,000, or empty"),
        ("epsilon", "near", "not a number; 0 to 1,000, or empty"),
        ("patience", "1", "too small; 2 to 1,000, or empty"),
        ("patience", "40", "w is 40, but there are 12 attempts; fewer, or empty"),
        ("seed", "-3", "too small; 0 to"),
        ("target", "sm_120", "unknown; one of host, sm_90a"),
        ("policy", "loose", "unknown; one of strict, tf32, half"),
        ("tolerance", "", "nothing chosen; one of strict, kernelbench"),
        ("title", 201 * "x", "longer than 200 characters"),
    ],
)
def test_a_wrong_field_is_said_beside_it_and_by_the_button(
    as_alice: Client, three: list[Problem], field: str, value: str, said: str
) -> None:
    response = as_alice.post("/runs/new/", {**GOOD, "problems": [three[0].pk], field: value})
    source = html(response)
    assert response.status_code == 422
    assert said in words(source)
    assert f'id="e-{field}"' in source
    assert "1 field to mend:" in words(part(source, "summary", "aside"))
    assert not Run.objects.exists()


def test_nothing_typed_is_lost(as_alice: Client, three: list[Problem]) -> None:
    response = as_alice.post(
        "/runs/new/", {**GOOD, "problems": [three[1].pk], "attempts": "none", "title": "Mine", "controller": "flat"}
    )
    source = html(response)
    assert 'value="none"' in source
    assert 'value="Mine"' in source
    assert 'name="controller" value="flat" checked' in source
    assert f'id="p-{three[1].pk}" aria-label="own/2 Gemm_Bias_ReLU" checked' in source


def test_no_problem_chosen_is_said(as_alice: Client, three: list[Problem]) -> None:
    assert "none chosen; one at least" in text_of(as_alice.post("/runs/new/", GOOD))


def test_a_problem_that_has_gone_is_said(as_alice: Client, three: list[Problem]) -> None:
    text = text_of(as_alice.post("/runs/new/", {**GOOD, "problems": ["4711"]}))
    assert "problem 4711 is not here any more" in text


def test_the_summary_counts_attempts_and_names_workers(as_alice: Client, three: list[Problem]) -> None:
    gallery.worker("host-1", "host")
    query: dict[str, Any] = {**GOOD, "problems": [p.pk for p in three], "patience": "4"}
    text = text_of(as_alice.get("/runs/new/summary/", query))
    assert "36 attempts, 3 × 12" in text
    assert "once ahead of eager, and within 25 % of SOL or after 4 attempts without progress" in text
    assert "cpu no worker online: would wait" in text
    assert "host 1 online, 1 idle" in text
    assert "Not known before it runs." in text
    assert "Launch 3 problems" in text


def test_the_summary_takes_a_form_that_is_not_right_yet(as_alice: Client, three: list[Problem]) -> None:
    query: dict[str, Any] = {**GOOD, "attempts": "", "problems": ["x"]}
    text = text_of(as_alice.get("/runs/new/summary/", query))
    assert "mend the field first" in text


def test_the_last_run_of_the_same_shape_says_how_long_it_took(
    as_alice: Client, alice: User, three: list[Problem]
) -> None:
    now = timezone.now()
    last = gallery.run(alice, state="done", started=now - timedelta(minutes=41), finished=now)
    gallery.trajectory(last, three[0])
    query: dict[str, Any] = {**GOOD, "problems": [three[1].pk]}
    text = text_of(as_alice.get("/runs/new/summary/", query))
    assert f"The last run of this shape, r-{last.pk} , took 41 min" in text


def test_problems_of_the_address_are_chosen(as_alice: Client, three: list[Problem]) -> None:
    source = html(as_alice.get(f"/runs/new/?problems={three[0].pk},{three[2].pk},x"))
    assert "2 of 3 chosen" in words(source)
    assert "24 attempts, 2 × 12" in words(source)


def test_a_clone_brings_settings_and_problems(as_alice: Client, alice: User, three: list[Problem]) -> None:
    run = gallery.run(alice, "First", controller="flat", attempts=30, epsilon=None, patience=5, steering=False)
    gallery.trajectory(run, three[1])
    source = html(as_alice.get(f"/runs/new/?clone={run.pk}"))
    assert 'name="controller" value="flat" checked' in source
    assert "30 attempts, 1 × 30" in words(source)
    assert "after 5 attempts without progress" in words(source)
    assert 'name="steering">' in source


SEED = 'program p(x: f32[4]) -> f32[4]\n  y = map(x)  # "first" < second\n  return y\n'


def test_a_clone_of_a_playground_run_carries_its_program(
    as_alice: Client, alice: User, three: list[Problem], sent: list[int]
) -> None:
    run = gallery.run(alice, "By hand", controller="flat", attempts=1)
    trajectory = gallery.trajectory(run, three[1])
    trajectory.seed_program = SEED
    trajectory.save()
    source = html(as_alice.get(f"/runs/new/?clone={run.pk}"))
    assert "Its program is tried first" in words(source)
    assert escape(SEED).splitlines()[0] in source
    for problems, seeds in ((three[1:2], {SEED}), (three[:2], {""})):
        form = {**GOOD, "problems": [problem.pk for problem in problems], "seed_program": SEED}
        assert as_alice.post("/runs/new/", form).status_code == 302
        launched = Run.objects.latest("pk")
        assert {each.seed_program for each in launched.trajectories.all()} == seeds


def test_a_target_without_a_worker_would_wait(as_alice: Client, three: list[Problem]) -> None:
    gallery.worker("host-1", "host")
    source = html(as_alice.get("/runs/new/"))
    assert words(source).count("no worker online: would wait") == 2 + 1  # the cards' targets, and the cpu queue


def test_without_problems_it_says_how_to_get_some(as_alice: Client) -> None:
    assert "manage.py import_problems" in text_of(as_alice.get("/runs/new/"))


def test_the_page_takes_a_fixed_number_of_queries(
    as_alice: Client, django_assert_num_queries: object, three: list[Problem]
) -> None:
    with django_assert_num_queries(12):  # type: ignore[operator]
        as_alice.get("/runs/new/")
    gallery.problems(16)
    with django_assert_num_queries(12):  # type: ignore[operator]
        as_alice.get("/runs/new/")


def test_torch_eager_is_always_timed_and_others_as_chosen(
    as_alice: Client, three: list[Problem], sent: list[int]
) -> None:
    as_alice.post("/runs/new/", {**GOOD, "problems": [three[0].pk], "baselines": ["best", "tf32"]})
    run = Run.objects.get()
    assert run.baselines == "eager,best", "TF32 is none of a CPU's"
    shown = html(as_alice.get(f"/runs/new/?clone={run.pk}"))
    assert 'name="baselines" value="best" checked' in shown
    assert 'name="baselines" value="compile" checked' not in shown


def test_a_run_on_a_card_is_timed_beside_tf32_too(as_alice: Client, three: list[Problem], sent: list[int]) -> None:
    page = html(as_alice.get("/runs/new/"))
    assert 'name="baselines" value="tf32" checked' in page
    form = {**GOOD, "target": "sm_90a", "problems": [three[0].pk], "baselines": ["tf32", "compile"]}
    as_alice.post("/runs/new/", form)
    assert Run.objects.get().baselines == "eager,tf32,compile"


def test_an_unknown_baseline_is_refused_by_name(as_alice: Client, three: list[Problem]) -> None:
    response = as_alice.post("/runs/new/", {**GOOD, "problems": [three[0].pk], "baselines": ["magic"]})
    assert response.status_code == 422
    assert "unknown; some of tf32, compile, best" in words(html(response))
