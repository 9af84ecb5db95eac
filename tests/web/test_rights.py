"""Who may do what: the owner, another member, staff, and somebody outside."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.models import Run
from runs.states import RunState
from tests.web import gallery
from tests.web.reading import html, part, text_of


@pytest.fixture
def run(alice: User) -> Run:
    return gallery.mid_flight(alice)


def test_the_owner_may_cancel(as_alice: Client, run: Run, alice: User) -> None:
    assert "Cancel this run" in part(html(as_alice.get(f"/runs/{run.pk}/")), "run-acts", "div")
    assert as_alice.post(f"/runs/{run.pk}/cancel/").headers["Location"] == f"/runs/{run.pk}/"
    run.refresh_from_db()
    assert run.cancel_requested is not None
    assert run.cancelled_by == alice


def test_staff_may_cancel(as_maya: Client, run: Run, maya: User) -> None:
    as_maya.post(f"/runs/{run.pk}/cancel/")
    run.refresh_from_db()
    assert run.cancelled_by == maya


def test_a_member_may_look_but_not_cancel(as_bob: Client, run: Run) -> None:
    response = as_bob.get(f"/runs/{run.pk}/")
    assert response.status_code == 200
    assert "Cancel run" not in html(response)
    refused = as_bob.post(f"/runs/{run.pk}/cancel/")
    assert refused.status_code == 403
    assert "belongs to alice. Its owner and admins may change it." in text_of(refused)
    run.refresh_from_db()
    assert run.cancel_requested is None


def test_an_outsider_reaches_nothing(outsider: Client, run: Run) -> None:
    assert outsider.post(f"/runs/{run.pk}/cancel/").status_code == 302
    assert Run.objects.get().cancel_requested is None


def test_cancelling_takes_a_post(as_alice: Client, run: Run) -> None:
    assert as_alice.get(f"/runs/{run.pk}/cancel/").status_code == 405


def test_a_run_that_is_being_cancelled_says_so(as_alice: Client, run: Run) -> None:
    as_alice.post(f"/runs/{run.pk}/cancel/")
    text = text_of(as_alice.get(f"/runs/{run.pk}/"))
    assert "cancelling" in text
    assert "what is under way is being stopped" in text


def test_an_ended_run_has_nothing_to_cancel(as_alice: Client, alice: User) -> None:
    ended = gallery.near_sol(alice)
    assert "Cancel run" not in html(as_alice.get(f"/runs/{ended.pk}/"))
    as_alice.post(f"/runs/{ended.pk}/cancel/")
    ended.refresh_from_db()
    assert ended.state == RunState.DONE


def test_a_forged_form_is_refused(alice: User, run: Run) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    response = strict.post(f"/runs/{run.pk}/cancel/")
    assert response.status_code == 403
    assert "This form has expired" in text_of(response)
