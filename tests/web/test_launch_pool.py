"""A pool of attempts at launch: what is said before, what is refused, what a clone brings."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.models import Problem
from runs.models import Run
from tests.web import gallery
from tests.web.reading import html, text_of, words
from tests.web.test_launch import GOOD


@pytest.fixture
def three(db: None) -> list[Problem]:
    return gallery.problems(3)


def test_a_pool_is_launched_and_shown(as_alice: Client, three: list[Problem], sent: list[int]) -> None:
    as_alice.post("/runs/new/", {**GOOD, "pool": "20", "problems": [p.pk for p in three]})
    run = Run.objects.get()
    assert (run.pool, run.pool_used) == (20, 0)
    text = text_of(as_alice.get(f"/runs/{run.pk}/"))
    assert "Attempts in all 20, shared; where the headroom is first" in text
    assert "0 of 20" in text


def test_a_pool_with_less_than_one_attempt_a_problem_is_refused(as_alice: Client, three: list[Problem]) -> None:
    response = as_alice.post("/runs/new/", {**GOOD, "pool": "2", "problems": [p.pk for p in three]})
    assert response.status_code == 422
    assert "2 for 3 problems leaves some without any; 3 at least" in text_of(response)
    assert not Run.objects.exists()


def test_the_summary_says_that_attempts_are_shared(as_alice: Client, three: list[Problem]) -> None:
    fields: dict[str, Any] = {**GOOD, "pool": "20", "problems": [p.pk for p in three]}
    text = words(html(as_alice.get("/runs/new/summary/", fields)))
    assert "20 attempts, shared by 3 problems of at most 12 each" in text
    assert "36 attempts, 3 × 12" in words(html(as_alice.get("/runs/new/summary/", {**fields, "pool": "50"})))


def test_a_clone_brings_the_pool(as_alice: Client, alice: User, three: list[Problem]) -> None:
    run = gallery.run(alice, pool=30)
    gallery.trajectory(run, three[0])
    page = html(as_alice.get(f"/runs/new/?clone={run.pk}"))
    assert 'name="pool" inputmode="numeric" autocomplete="off" value="30"' in page
