"""Buttons and pages that change a run: who sees them, who may press them, twice, and too late."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.control_models import RunChange
from runs.models import Job, Run
from runs.states import JobState, RunState, TrajectoryState
from tests.web import control_rows, gallery
from tests.web.reading import html, part, text_of, words

ACTS = ("pause", "resume", "retry", "budget", "stop")
BUDGET = {"attempts": "20", "pool": "", "epsilon": "25", "patience": "", "token_limit": "", "cost_limit": ""}


@pytest.fixture
def run(alice: User) -> Run:
    return gallery.mid_flight(alice)


def acts(client: Client, run: Run) -> str:
    return words(part(html(client.get(f"/runs/{run.pk}/")), "run-acts", "div"))


def test_the_owner_pauses_and_resumes(as_alice: Client, run: Run) -> None:
    assert "Pause" in acts(as_alice, run)
    for _ in range(2):
        assert as_alice.post(f"/runs/{run.pk}/pause/").headers["Location"] == f"/runs/{run.pk}/"
    page = html(as_alice.get(f"/runs/{run.pk}/"))
    assert "paused" in words(part(page, "run-state", "span"))
    assert "Paused by alice at" in words(part(page, "run-note", "div"))
    assert "1 change since its launch, the last by alice" in words(part(page, "run-changes", "div"))
    assert "Resume" in acts(as_alice, run)
    assert "Pause" not in acts(as_alice, run)
    assert not Job.objects.filter(run=run, state=JobState.QUEUED).exists()
    as_alice.post(f"/runs/{run.pk}/resume/")
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    assert "alice resumed it" in text_of(as_alice.get(f"/runs/{run.pk}/"))


def test_a_live_page_is_told_of_a_pause(as_alice: Client, run: Run, settings: object) -> None:
    settings.LIVE_FRESH_S = 0  # type: ignore[attr-defined]
    page = html(as_alice.get(f"/runs/{run.pk}/"))
    cursor = page.split("after=")[1].split("&")[0]
    as_alice.post(f"/runs/{run.pk}/pause/")
    live = html(as_alice.get(f"/runs/{run.pk}/live/?after={cursor}"))
    assert "Paused by alice" in words(live)
    assert "Resume" in words(part(live, "run-acts", "div"))


def test_another_member_sees_no_button_and_presses_in_vain(as_bob: Client, run: Run) -> None:
    shown = acts(as_bob, run)
    assert "Clone" in shown
    for name in ("Pause", "Retry", "Budget", "Stop a problem", "Cancel"):
        assert name not in shown
    for act in ACTS:
        refused = as_bob.post(f"/runs/{run.pk}/{act}/", BUDGET)
        assert refused.status_code == 403, act
        assert "belongs to alice" in text_of(refused)
    assert as_bob.get(f"/runs/{run.pk}/budget/").status_code == 403
    assert as_bob.get(f"/runs/{run.pk}/stop/").status_code == 403
    assert not RunChange.objects.exists()


def test_staff_may_do_all_of_it(as_maya: Client, run: Run, maya: User) -> None:
    as_maya.post(f"/runs/{run.pk}/pause/")
    assert RunChange.objects.get().user == maya


def test_a_viewer_changes_nothing_and_launches_nothing(run: Run) -> None:
    client = Client()
    client.force_login(control_rows.viewer())
    for act in ACTS:
        assert client.post(f"/runs/{run.pk}/{act}/", BUDGET).status_code == 403
    for answer in (client.get("/runs/new/"), client.post("/runs/new/", {})):
        assert answer.status_code == 403
        assert "takes the role runner to launch runs" in text_of(answer)


def test_an_outsider_is_sent_to_sign_in(outsider: Client, run: Run) -> None:
    for act in ACTS:
        assert outsider.post(f"/runs/{run.pk}/{act}/").status_code == 302
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_forged_forms_are_refused(alice: User, run: Run) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    for act in ACTS:
        assert strict.post(f"/runs/{run.pk}/{act}/", BUDGET).status_code == 403


def test_deeds_take_a_post(as_alice: Client, run: Run) -> None:
    for act in ("pause", "resume", "retry"):
        assert as_alice.get(f"/runs/{run.pk}/{act}/").status_code == 405


def test_what_failed_can_be_retried_once(as_alice: Client, alice: User) -> None:
    run = control_rows.failed(alice)
    assert "Retry 1 failed problem and 1 lost attempt" in acts(as_alice, run)
    as_alice.post(f"/runs/{run.pk}/retry/")
    page = text_of(as_alice.get(f"/runs/{run.pk}/"))
    assert "1 failed problem goes on from where they stood; 1 lost attempt is queued again" in page
    assert "retried 1 failed problem and 1 lost attempt" in page
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
    as_alice.post(f"/runs/{run.pk}/retry/")
    assert "Nothing of" in text_of(as_alice.get(f"/runs/{run.pk}/"))
    assert RunChange.objects.count() == 1


def test_a_run_in_which_nothing_failed_has_no_retry(as_alice: Client, alice: User) -> None:
    assert "Retry" not in acts(as_alice, gallery.near_sol(alice))
    assert "Retry" not in acts(as_alice, gallery.cancelled(alice))


def test_the_budget_page_shows_limits_and_what_is_used(as_alice: Client, run: Run) -> None:
    page = html(as_alice.get(f"/runs/{run.pk}/budget/"))
    assert f'name="attempts" inputmode="numeric" autocomplete="off" value="{run.attempts}"' in page
    assert "by the problem with the most" in words(page)


def test_limits_are_changed_and_told(as_alice: Client, run: Run) -> None:
    before = run.attempts
    answer = as_alice.post(f"/runs/{run.pk}/budget/", {**BUDGET, "attempts": str(before + 5)})
    assert answer.headers["Location"] == f"/runs/{run.pk}/"
    run.refresh_from_db()
    assert run.attempts == before + 5
    page = text_of(as_alice.get(f"/runs/{run.pk}/"))
    assert "The limits are changed." in page
    assert f"alice changed attempts a problem {before} → {before + 5}" in page
    as_alice.post(f"/runs/{run.pk}/budget/", {**BUDGET, "attempts": str(before + 5)})
    assert "has these limits already" in text_of(as_alice.get(f"/runs/{run.pk}/"))
    assert RunChange.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("attempts", "1", "are used already; that or more"),
        ("attempts", "", "empty; 1 to 1,000"),
        ("pool", "1", "are used already; that or more"),
        ("epsilon", "near", "not a number; 0 to 1,000, or empty"),
        ("patience", "1", "too small; 2 to 1,000, or empty"),
        ("token_limit", "5000", "only a model takes tokens and money"),
    ],
)
def test_a_limit_that_cannot_be_is_said_beside_its_field(
    as_alice: Client, run: Run, field: str, value: str, said: str
) -> None:
    answer = as_alice.post(f"/runs/{run.pk}/budget/", {**BUDGET, field: value})
    assert answer.status_code == 422
    assert said in words(part(html(answer), f"e-{field}", "span"))
    assert not RunChange.objects.exists()


def test_one_problem_is_stopped_from_the_list_of_open_ones(as_alice: Client, run: Run) -> None:
    page = html(as_alice.get(f"/runs/{run.pk}/stop/"))
    one = run.trajectories.exclude(state=TrajectoryState.DONE).exclude(jobs__state=JobState.CLAIMED)[0]
    assert f'name="trajectory" value="{one.pk}"' in page
    for _ in range(2):
        as_alice.post(f"/runs/{run.pk}/stop/", {"trajectory": one.pk})
    one.refresh_from_db()
    assert (one.state, one.words) == (TrajectoryState.CANCELLED, "stopped by alice")
    assert RunChange.objects.count() == 1
    assert f"alice stopped {one.problem.slug}" in text_of(as_alice.get(f"/runs/{run.pk}/"))
    assert "stopped by alice" in words(part(html(as_alice.get(f"/runs/{run.pk}/")), f"t-{one.pk}", "tr"))


def test_a_problem_of_another_run_is_not_there(as_alice: Client, run: Run, alice: User) -> None:
    other = gallery.near_sol(alice).trajectories.all()[0]
    for key in (other.pk, "x", ""):
        assert as_alice.post(f"/runs/{run.pk}/stop/", {"trajectory": key}).status_code == 404


def test_pages_of_control_take_a_fixed_number_of_queries(
    as_alice: Client, alice: User, django_assert_max_num_queries: object
) -> None:
    for large in (gallery.mid_flight(alice), gallery.huge(alice, 20, 3)):
        with django_assert_max_num_queries(12):  # type: ignore[operator]
            as_alice.get(f"/runs/{large.pk}/stop/")
        with django_assert_max_num_queries(12):  # type: ignore[operator]
            as_alice.get(f"/runs/{large.pk}/budget/")
