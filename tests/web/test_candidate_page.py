"""The candidate page for every way an attempt can stand or end."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels import toolchain
from kernels.harness.evaluation import Outcome
from runs.models import Attempt, Job, Trajectory
from runs.states import AttemptState, JobKind
from tests.web import gallery
from tests.web.reading import html, links, part, text_of, words


@pytest.fixture
def best(alice: User) -> Attempt:
    found = gallery.near_sol(alice).trajectories.get().best
    assert found is not None
    return found


def address(attempt: Attempt, more: str = "") -> str:
    t = attempt.trajectory
    return f"/runs/{t.run_id}/{t.problem.slug}/{attempt.number}/{more}"


def open_(client: Client, attempt: Attempt, query: str = "") -> str:
    response = client.get(address(attempt) + query)
    assert response.status_code == 200
    return html(response)


def one_of(alice: User, outcome: Outcome) -> Attempt:
    run = gallery.none_passed(alice)
    return Attempt.objects.get(trajectory__run=run, outcome=outcome)


def test_it_names_the_distance_to_the_bound(as_alice: Client, best: Attempt) -> None:
    text = words(open_(as_alice, best))
    assert "Median of 30" in text
    assert f"{best.gap:.2f}×" in text
    assert "best of 12" in text


def test_the_bound_line_says_in_words_what_it_draws(as_alice: Client, best: Attempt) -> None:
    source = open_(as_alice, best)
    assert 'aria-label="Time on a log axis: floor 0.816' in source
    assert "this kernel" in source


def test_lines_of_both_panes_are_linked(as_alice: Client, best: Attempt) -> None:
    source = open_(as_alice, best)
    assert 'id="M4" data-to="L6 L7 L8"' in source
    assert 'id="L6" data-to="M4"' in source


def test_the_card_s_code_can_be_chosen_instead(as_alice: Client, best: Attempt) -> None:
    source = open_(as_alice, best, "?unit=x0")
    assert "Generated CUDA C++" in words(source)
    assert "sm_90a, 24 lines" in words(source)


def test_another_unit_comes_as_a_fragment(as_alice: Client, best: Attempt) -> None:
    source = html(as_alice.get(address(best, "code/?unit=x0")))
    assert source.startswith('<div class="cols cand" id="code">')
    assert "<html" not in source


def test_a_unit_that_does_not_exist_shows_the_first(as_alice: Client, best: Attempt) -> None:
    assert "host, 24 lines" in words(open_(as_alice, best, "?unit=x99"))


def test_the_difference_from_its_parent_is_shown(as_alice: Client, best: Attempt) -> None:
    difference = part(open_(as_alice, best), "difference", "section")
    assert f"from #{best.parent.number}" in words(difference)  # type: ignore[union-attr]
    assert 'class="l gone"' in difference
    assert 'class="l new"' in difference


def test_without_a_parent_it_is_compared_with_the_translated_program(as_alice: Client, best: Attempt) -> None:
    first = best.trajectory.attempts.get(number=1)
    assert "from the translated program" in words(part(open_(as_alice, first), "difference", "section"))


def test_checks_times_and_stages_are_shown(as_alice: Client, best: Attempt) -> None:
    text = words(open_(as_alice, best))
    assert "relative error, worst of 3 rounds 2.1e−6 1.1e−5 holds" in text
    assert "wall clock of one call" in text
    assert "in library stages" in text
    assert "Not told apart" in text
    assert "matrix work" in text


def test_compiled_for_the_card_is_not_measured(as_alice: Client, best: Attempt) -> None:
    box = words(part(open_(as_alice, best), "sm_90a", "section"))
    assert "Compiled, not measured." in box
    assert "168 registers a thread, no spills, 219 KiB shared" in box
    assert "no sm_90a card here" in box


def test_refusals_stand_under_the_line_they_name(as_alice: Client, alice: User) -> None:
    source = open_(as_alice, one_of(alice, Outcome.REFUSED))
    text = words(source)
    assert "Refused before anything was compiled: 2 reasons." in text
    assert "line 4 tile-size : .tile(96, 4096, 512) needs 6.4 MiB" in text
    assert f'<b aria-hidden="true">{" " * 18}^</b>' in source
    assert "not measured: refused" in text


def test_a_build_error_shows_its_log_open(as_alice: Client, alice: User) -> None:
    box = part(open_(as_alice, one_of(alice, Outcome.BUILD_ERROR)), "build", "section")
    assert '<details class="data" open>' in box
    assert "no member named 'run'" in words(box)


def test_an_incorrect_attempt_says_which_check_and_where(as_alice: Client, alice: User) -> None:
    text = words(open_(as_alice, one_of(alice, Outcome.INCORRECT)))
    assert "relative error, worst of 3 rounds: seen 0.310, limit 1.1e−5; tile [64, 128] of round 2" in text


@pytest.mark.parametrize(
    ("outcome", "said"), [(Outcome.CRASH, "died of signal 11"), (Outcome.TIMEOUT, "no answer within 60 s")]
)
def test_other_ends_say_what_happened(as_alice: Client, alice: User, outcome: Outcome, said: str) -> None:
    text = words(open_(as_alice, one_of(alice, outcome)))
    assert said in text
    assert f"not measured: {outcome.value}" in text


@pytest.fixture
def bare(alice: User) -> Trajectory:
    return gallery.trajectory(gallery.run(alice), gallery.problem(1))


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (AttemptState.QUEUED, "Queued."),
        (AttemptState.BUILDING, "Building."),
        (AttemptState.BUILT, "Built, waiting."),
        (AttemptState.EVALUATING, "Evaluating."),
    ],
)
def test_an_attempt_under_way_says_where_it_stands(
    as_alice: Client, bare: Trajectory, state: str, said: str
) -> None:
    source = open_(as_alice, gallery.attempt(bare, 1, None, state=state))
    assert said in words(source)
    assert f"was={state}" in source


def test_a_retried_attempt_says_which_try_it_is(as_alice: Client, bare: Trajectory) -> None:
    one = gallery.attempt(bare, 1, None, state=AttemptState.QUEUED)
    Attempt.objects.update(tries=2)
    assert "A worker was lost; this is try 2 of 3." in words(open_(as_alice, one))


def test_lost_and_cancelled_attempts_say_so(as_alice: Client, bare: Trajectory) -> None:
    lost = gallery.attempt(
        bare,
        1,
        Outcome.NOT_MEASURED,
        state=AttemptState.LOST,
        detail="lost after 3 tries: its worker stopped answering",
    )
    gone = gallery.attempt(bare, 2, None, state=AttemptState.CANCELLED)
    assert "Lost. lost after 3 tries" in words(open_(as_alice, lost))
    assert "Cancelled with its run before it ended" in words(open_(as_alice, gone))


def test_the_state_is_polled_until_it_changes(as_alice: Client, bare: Trajectory) -> None:
    one = gallery.attempt(bare, 1, None, state=AttemptState.BUILDING)
    assert as_alice.get(address(one, "state/?was=building&cross=")).status_code == 204
    Attempt.objects.update(state=AttemptState.BUILT)
    assert as_alice.get(address(one, "state/?was=building&cross=")).headers["HX-Refresh"] == "true"


def test_neighbours_are_linked(as_alice: Client, best: Attempt) -> None:
    source = open_(as_alice, best.trajectory.attempts.get(number=5))
    found = links(source)
    assert address(best.trajectory.attempts.get(number=4)) in found
    assert address(best.trajectory.attempts.get(number=6)) in found


def test_lineage_holds_ancestors_siblings_and_children(as_alice: Client, bare: Trajectory) -> None:
    root = gallery.attempt(bare, 1, time_s=0.004)
    child = gallery.attempt(bare, 2, time_s=0.003, parent=root)
    sibling = gallery.attempt(bare, 3, Outcome.CRASH, parent=root)
    grandchild = gallery.attempt(bare, 4, time_s=0.002, parent=child)
    stranger = gallery.attempt(bare, 5, time_s=0.002, parent=sibling)
    table = part(open_(as_alice, child), "lineage", "section")
    assert all(address(one) in table for one in (root, child, sibling, grandchild))
    assert address(stranger) not in table
    assert "−25.0 %" in words(table)


class TestSm90a:
    def test_without_nvcc_it_says_so(
        self, as_alice: Client, bare: Trajectory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(toolchain, "available", lambda target: False)
        one = gallery.attempt(bare, 1, time_s=0.004)
        assert "No nvcc on this machine" in words(part(open_(as_alice, one), "sm_90a", "section"))

    def test_the_owner_may_have_it_compiled(
        self, as_alice: Client, bare: Trajectory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(toolchain, "available", lambda target: True)
        one = gallery.attempt(bare, 1, time_s=0.004)
        assert "Compile for sm_90a" in open_(as_alice, one)
        as_alice.post(address(one, "sm_90a/"))
        assert Job.objects.get(attempt=one).kind == JobKind.CROSS_BUILD
        assert "Queued for sm_90a." in words(open_(as_alice, one))

    def test_a_member_may_not(
        self, as_bob: Client, alice: User, bare: Trajectory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(toolchain, "available", lambda target: True)
        one = gallery.attempt(bare, 1, time_s=0.004)
        assert "Compile for sm_90a</button>" not in open_(as_bob, one)
        response = as_bob.post(address(one, "sm_90a/"))
        assert response.status_code == 403
        assert "belongs to alice" in text_of(response)
        assert not Job.objects.exists()


def test_the_page_takes_a_fixed_number_of_queries(
    as_alice: Client, best: Attempt, django_assert_max_num_queries: object
) -> None:
    with django_assert_max_num_queries(16):  # type: ignore[operator]
        as_alice.get(address(best))
