"""The run page in each of its states."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.models import Run
from runs.states import RunState
from tests.web import gallery
from tests.web.reading import html, part, text_of, words


def page(client: Client, run: Run) -> str:
    response = client.get(f"/runs/{run.pk}/")
    assert response.status_code == 200
    return html(response)


def test_a_queued_run_says_which_worker_it_waits_for(as_alice: Client, alice: User) -> None:
    source = page(as_alice, gallery.queued_without_worker(alice))
    assert "Waiting: no cpu worker is online" in words(part(source, "now", "section"))
    assert "Waiting: no cpu and no host worker is online" in words(part(source, "chart-note", "p"))
    assert "No attempt has ended yet" in words(part(source, "stream", "ol"))
    assert source.count(">queued<") == 3 + 1


def test_a_live_run_shows_every_state_of_its_problems(as_alice: Client, alice: User) -> None:
    source = page(as_alice, gallery.mid_flight(alice))
    text = words(source)
    for state in ("building", "evaluating", "built, waiting", "near SOL", "choosing", "preparing"):
        assert state in text
    assert "incorrect 3 of 3" in text
    now = words(part(source, "now", "section"))
    assert "cpu-1 building own/1 #8" in now
    assert "host-1 evaluating own/2 #10" in now
    assert "its workers are busy" in now


def test_a_live_run_polls_and_a_finished_one_does_not(as_alice: Client, alice: User) -> None:
    assert "hx-get" in part(page(as_alice, gallery.mid_flight(alice)), "poll", "div")
    assert "hx-get" not in part(page(as_alice, gallery.near_sol(alice)), "poll", "div")


def test_a_failed_run_says_why_and_what_was_kept(as_alice: Client, alice: User) -> None:
    source = page(as_alice, gallery.all_failed(alice))
    assert "Failed. own/99 at size cpu cannot be run" in words(part(source, "run-note", "div"))
    assert "problem-not-usable" in words(source)
    assert "0 attempts kept" in words(source)


def test_a_cancelled_run_says_by_whom(as_alice: Client, alice: User) -> None:
    run = gallery.cancelled(alice)
    note = words(part(page(as_alice, run), "run-note", "div"))
    assert "Cancelled by alice at" in note
    assert f"/runs/new/?from={run.pk}" in page(as_alice, run)


def test_cancelled_attempts_are_not_counted_as_ended(as_alice: Client, alice: User) -> None:
    run = gallery.cancelled(alice)
    figures = words(part(page(as_alice, run), "figures", "dl"))
    assert "Attempts 4 of 12" in figures
    assert "cancelled" in words(part(page(as_alice, run), "stream", "ol"))


def test_a_run_without_a_passing_kernel_has_dashes_with_reasons(as_alice: Client, alice: User) -> None:
    source = page(as_alice, gallery.none_passed(alice))
    figures = words(part(source, "figures", "dl"))
    assert "– no passing kernel yet" in figures
    assert "1.00×" not in figures
    assert "0 passed , 5 did not" in figures
    assert "1 of 5" in words(source)


def test_without_a_kernel_the_chart_says_where_its_line_is(as_alice: Client, alice: User) -> None:
    run = gallery.none_passed(alice)

    def note() -> str:
        return words(part(page(as_alice, run), "chart-note", "p"))

    run.trajectories.update(sol_s=0.001, eager_s=0.002)
    Run.objects.update(state=RunState.RUNNING)
    assert "No kernel has passed yet: the line stays at eager." in note()
    Run.objects.update(state=RunState.DONE)
    assert "No kernel passed: the line stays at eager." in note()
    run.trajectories.update(eager_s=None)
    assert "No kernel passed." in note()
    assert "eager not measured 0 of" in words(part(page(as_alice, run), "figures", "dl"))


def test_a_run_near_the_bound_says_so(as_alice: Client, alice: User) -> None:
    run = gallery.near_sol(alice)
    source = page(as_alice, run)
    trajectory = run.trajectories.get()
    assert "near SOL" in words(part(source, f"t-{trajectory.pk}", "tr"))
    assert "1 of 1 problem near SOL" in words(part(source, "figures", "dl"))
    assert f"/runs/{run.pk}/own/2/{trajectory.best.number}/" in source  # type: ignore[union-attr]


def test_a_problem_without_a_kernel_counts_as_eager_in_the_geomean(as_alice: Client, alice: User) -> None:
    run = gallery.run(alice)
    first, second = (gallery.trajectory(run, on) for on in gallery.problems(2))
    assert first.sol_s is not None
    gallery.attempt(first, 1, time_s=first.sol_s * 2, eager_s=first.sol_s * 8)
    second.eager_s = (second.sol_s or 0) * 8
    second.save()
    figures = words(part(page(as_alice, run), "figures", "dl"))
    assert "4.00×" in figures  # the geomean of 2 and 8
    assert "2.00×" in figures  # the geomean of 4 and 1
    assert "1 of 2 without a kernel counts as eager" in figures


@pytest.mark.parametrize("show", ["open", "near"])
def test_problems_are_filtered_by_the_address(as_alice: Client, alice: User, show: str) -> None:
    run = gallery.mid_flight(alice)
    rows = html(as_alice.get(f"/runs/{run.pk}/?show={show}")).count('<tr role="row" id="t-')
    assert rows == {"open": 6, "near": 2}[show]


def test_most_headroom_comes_first_and_unknown_last(as_alice: Client, alice: User) -> None:
    source = page(as_alice, gallery.mid_flight(alice))
    gaps = [float(gap) if gap else None for gap in re.findall(r'data-gap="([^"]*)"', source)]
    known = [gap for gap in gaps if gap is not None]
    assert known == sorted(known, reverse=True)
    assert gaps[len(known) :] == [None, None]


def test_the_page_takes_as_many_queries_for_sixty_problems_as_for_one(
    as_alice: Client, alice: User, django_assert_num_queries: object
) -> None:
    small, large = gallery.near_sol(alice), gallery.huge(alice, 20, 4)
    for run in (small, large):
        with django_assert_num_queries(11):  # type: ignore[operator]
            as_alice.get(f"/runs/{run.pk}/")


def test_times_are_divided_by_what_the_jobs_did(as_alice: Client, alice: User) -> None:
    figures = words(part(page(as_alice, gallery.mid_flight(alice)), "figures", "dl"))
    assert "build 50 % evaluate 50 % other 0 %" in figures


def test_a_run_that_does_not_exist_is_said_so(as_alice: Client) -> None:
    response = as_alice.get("/runs/4711/")
    assert response.status_code == 404
    assert "There is nothing at this address" in text_of(response)
