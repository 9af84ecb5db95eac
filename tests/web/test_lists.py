"""Runs, attempts, fleet and search."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.test import Client

from kernels.harness.correctness import IncorrectReason
from kernels.harness.evaluation import Outcome
from runs.models import Attempt
from runs.states import JobKind, JobState
from tests.web import gallery
from tests.web.reading import html, links, text_of, words


def test_home_opens_on_the_runs(as_alice: Client) -> None:
    assert as_alice.get("/").headers["Location"] == "/runs/"


def test_no_runs_yet_says_what_a_run_is(as_alice: Client) -> None:
    response = as_alice.get("/runs/")
    assert "No runs yet" in text_of(response)
    assert "/runs/new/" in links(html(response))


def test_runs_are_listed_newest_first_with_their_figures(as_alice: Client, alice: User) -> None:
    near, queued = gallery.near_sol(alice), gallery.queued_without_worker(alice)
    text = text_of(as_alice.get("/runs/"))
    assert text.index(f"r-{queued.pk}") < text.index(f"r-{near.pk}")
    assert f"{near.trajectories.get().gap:.2f}×" in text
    assert "– no passing kernel yet" in text
    assert "12 of 12" in text


def test_runs_are_filtered_by_state_and_owner(as_alice: Client, alice: User, bob: User) -> None:
    gallery.queued_without_worker(alice)
    gallery.none_passed(bob)
    assert "Nothing passed" in text_of(as_alice.get("/runs/?state=done"))
    assert "Gemm and two more" not in text_of(as_alice.get("/runs/?state=done"))
    assert "Nothing passed" not in text_of(as_alice.get("/runs/?owner=alice"))
    assert "No run is cancelled" in text_of(as_alice.get("/runs/?state=cancelled"))


def test_the_list_takes_a_fixed_number_of_queries(
    as_alice: Client, alice: User, django_assert_num_queries: object
) -> None:
    for _ in range(3):
        gallery.trajectory(gallery.run(alice), gallery.problems(1)[0])
        with django_assert_num_queries(8):  # type: ignore[operator]
            as_alice.get("/runs/")


def test_runs_come_fifty_a_page(as_alice: Client, alice: User) -> None:
    for number in range(52):
        gallery.run(alice, f"Run number {number}")
    first, second = (text_of(as_alice.get(f"/runs/?page={page}")) for page in (1, 2))
    assert "1–50 of 52" in first
    assert "Run number 0 " in second
    assert "Run number 0 " not in first


def test_attempts_are_filtered_by_outcome_and_problem(as_alice: Client, alice: User) -> None:
    run = gallery.none_passed(alice)
    everything = text_of(as_alice.get(f"/runs/{run.pk}/attempts/"))
    assert "All 5" in everything
    crashed = text_of(as_alice.get(f"/runs/{run.pk}/attempts/?outcome=crash"))
    assert "died of signal 11" in crashed
    assert "the compiler refused" not in crashed
    assert "No attempt has on own/1" in text_of(as_alice.get(f"/runs/{run.pk}/attempts/?problem=own/1"))


def test_incorrect_attempts_say_why_and_are_filtered_by_it(as_alice: Client, alice: User) -> None:
    run = gallery.none_passed(alice)
    one = Attempt.objects.filter(trajectory__run=run, outcome=Outcome.INCORRECT)[0]
    one.pk, one.number, one.reason = None, 40, IncorrectReason.STALE
    one.detail = f"{IncorrectReason.STALE.words}: check 'follows the inputs' failed: round 2"
    one.save()
    address = f"/runs/{run.pk}/attempts/"
    everything = text_of(as_alice.get(address))
    assert "incorrect: values are off" in everything
    assert everything.count("the answer does not follow the inputs") == 1, "in one column, not in two"
    assert "any reason" not in everything
    text = text_of(as_alice.get(f"{address}?outcome=incorrect&reason=stale"))
    assert "check 'follows the inputs' failed: round 2" in text
    assert "incorrect: values are off" not in text
    assert "any reason the answer does not follow the inputs 1 values are off 1" in text
    assert "No attempt has the outcome “incorrect” for the reason “clock”" in text_of(
        as_alice.get(f"{address}?outcome=incorrect&reason=clock")
    )


def test_attempts_take_a_fixed_number_of_queries(
    as_alice: Client, alice: User, django_assert_num_queries: object
) -> None:
    run = gallery.huge(alice, 4, 12)
    with django_assert_num_queries(7):  # type: ignore[operator]
        as_alice.get(f"/runs/{run.pk}/attempts/")


def test_a_run_without_attempts_points_back(as_alice: Client, alice: User) -> None:
    run = gallery.queued_without_worker(alice)
    assert "No attempt has ended yet" in text_of(as_alice.get(f"/runs/{run.pk}/attempts/"))


class TestFleet:
    def test_without_workers_it_says_how_to_start_one(self, as_alice: Client) -> None:
        text = text_of(as_alice.get("/fleet/"))
        assert "No worker is online." in text
        assert "host none" in text

    def test_workers_show_what_they_do(self, as_alice: Client, alice: User) -> None:
        run = gallery.mid_flight(alice)
        gallery.worker("gone-1", "cpu", seconds_ago=600)
        text = text_of(as_alice.get("/fleet/"))
        assert "2 workers online, 1 offline" in text
        assert f"building r-{run.pk} own/1 #8" in text
        assert "torch 2.13.0" in text

    def test_queues_show_what_waits(self, as_alice: Client, alice: User) -> None:
        gallery.queued_without_worker(alice)
        assert "cpu none 0 3" in text_of(as_alice.get("/fleet/"))

    def test_it_takes_a_fixed_number_of_queries(
        self, as_alice: Client, alice: User, django_assert_num_queries: object
    ) -> None:
        trajectory = gallery.trajectory(gallery.run(alice), gallery.problems(1)[0])
        for number in range(3):
            job = gallery.job(trajectory, JobKind.BUILD, "cpu", None, JobState.CLAIMED)
            gallery.worker(f"cpu-{number}", "cpu", job)
            with django_assert_num_queries(5):  # type: ignore[operator]
                as_alice.get("/fleet/")


class TestSearch:
    def test_it_finds_runs_problems_and_programs(self, as_alice: Client, alice: User) -> None:
        run = gallery.near_sol(alice)
        text = text_of(as_alice.get("/search/?q=bias"))
        assert f"r-{run.pk} Gemm_Bias_ReLU" in text
        assert "own/2 Gemm_Bias_ReLU" in text
        assert "1: program gemm_bias_relu(" in text

    def test_a_run_is_found_by_its_number(self, as_alice: Client, alice: User) -> None:
        run = gallery.cancelled(alice)
        assert "Stopped half way" in text_of(as_alice.get(f"/search/?q=r-{run.pk}"))

    def test_nothing_found_is_said(self, as_alice: Client) -> None:
        assert "Nothing has “zebra” in its title" in text_of(as_alice.get("/search/?q=zebra"))

    def test_without_a_text_it_says_what_it_searches(self, as_alice: Client) -> None:
        assert "programs by what is in them" in text_of(as_alice.get("/search/"))

    def test_a_found_line_is_linked(self, as_alice: Client, alice: User) -> None:
        run = gallery.near_sol(alice)
        found = links(html(as_alice.get("/search/?q=.acc(f32)")))
        assert any(link.startswith(f"/runs/{run.pk}/own/2/") and link.endswith("/#M4") for link in found)


def test_navigation_shows_only_what_exists(as_alice: Client) -> None:
    source = html(as_alice.get("/runs/"))
    assert words(source[source.index("<nav") : source.index("</nav>")]).split() == [
        "Runs", "Kernels", "Problems", "Triage", "Lessons", "Feedback", "Playground", "Fleet",
    ]  # fmt: skip
