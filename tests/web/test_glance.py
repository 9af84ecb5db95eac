"""Who watches a run shares one look at it, no older than a setting says."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs import glance as glances
from runs.board import Board, board
from runs.models import Run
from tests.web import kernel_rows, rows
from tests.web.reading import html


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs that were looked at."""
    kept: list[int] = []

    def look(run: Run) -> Board:
        kept.append(run.pk)
        return board(run)

    monkeypatch.setattr(glances, "board", look)
    glances._kept.clear()
    return kept


def test_many_viewers_take_one_look(
    as_alice: Client, as_bob: Client, alice: User, looks: list[int], settings: Any
) -> None:
    settings.LIVE_FRESH_S = 60
    run = kernel_rows.several(alice, 3)
    for client in (as_alice, as_bob, as_alice):
        client.get(f"/runs/{run.pk}/live/?after=0")
    assert looks == [run.pk]


def test_an_old_look_is_taken_again(as_alice: Client, alice: User, looks: list[int], settings: Any) -> None:
    run = kernel_rows.several(alice, 3)
    settings.LIVE_FRESH_S = 60
    as_alice.get(f"/runs/{run.pk}/live/?after=0")
    glances._kept[run.pk].taken -= 61
    as_alice.get(f"/runs/{run.pk}/live/?after=0")
    assert looks == [run.pk, run.pk]


def test_no_more_runs_are_kept_than_said(as_alice: Client, alice: User, looks: list[int], settings: Any) -> None:
    settings.LIVE_FRESH_S = 60
    for _ in range(glances._MOST + 3):
        as_alice.get(f"/runs/{rows.run(alice).pk}/live/?after=0")
    assert len(glances._kept) == glances._MOST


def test_a_poll_brings_no_row_that_the_page_does_not_show(as_alice: Client, alice: User) -> None:
    run = rows.run(alice, "Many")
    on = [rows.trajectory(run, problem) for problem in kernel_rows.problems(3)]
    page = html(as_alice.get(f"/runs/{run.pk}/"))
    assert f"rows={on[0].pk},{on[1].pk},{on[2].pk}" in page
    shown = html(as_alice.get(f"/runs/{run.pk}/live/?after=0&rows={on[1].pk},x,"))
    assert f'id="t-{on[1].pk}"' in shown
    assert f'id="t-{on[0].pk}"' not in shown
    assert f"rows={on[1].pk}" in shown


def test_a_run_of_many_problems_comes_fifty_a_page(as_alice: Client, alice: User) -> None:
    run = rows.run(alice, "Many")
    on = [rows.trajectory(run, problem) for problem in kernel_rows.problems(53)]
    first, second = (html(as_alice.get(f"/runs/{run.pk}/?page={page}")) for page in (1, 2))
    assert first.count('<tr role="row" id="t-') == 50
    assert second.count('<tr role="row" id="t-') == 3
    assert "1–50 of 53" in first
    assert len({one.pk for one in on if f'id="t-{one.pk}"' in first + second}) == 53
