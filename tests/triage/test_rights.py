"""Who may settle, take back and give cases, who may comment, and who sees nothing."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sol.cases import settle
from sol.models import Case
from tests.triage.conftest import signed_in
from tests.web import rows, triage_rows
from tests.web.reading import html, text_of

ACTS = (("settle/", {"verdict": "clean"}), ("assign/", {"to": "rita"}))


@pytest.fixture
def case(owner: User, rita: User) -> Case:
    return triage_rows.run_with_cases(owner, 2)[1][0]


@pytest.mark.parametrize(("act", "form"), ACTS)
@pytest.mark.parametrize("who", ["owner", "viewer"])
def test_neither_the_owner_nor_a_viewer_settles(
    case: Case, as_owner: Client, as_viewer: Client, who: str, act: str, form: dict[str, str]
) -> None:
    client = {"owner": as_owner, "viewer": as_viewer}[who]
    page = html(client.get(f"/triage/{case.pk}/"))
    assert "data-verdict" not in page
    assert 'id="give"' not in page
    refused = client.post(f"/triage/{case.pk}/{act}", form)
    assert refused.status_code == 403
    role = {"owner": "runner", "viewer": "viewer"}[who]
    assert f"It takes the role reviewer to settle flags and review kernels; yours is {role}." in text_of(refused)
    case.refresh_from_db()
    assert (case.verdict, case.assigned) == ("", None)


def test_undoing_is_a_reviewer_s_too(case: Case, rita: User, as_owner: Client) -> None:
    batch = settle([case], "clean", rita)
    assert "data-undo" not in html(as_owner.get(f"/triage/{case.pk}/"))
    assert as_owner.post("/triage/undo/", {"batch": batch}).status_code == 403
    case.refresh_from_db()
    assert case.verdict == "clean"


def test_everybody_who_is_signed_in_sees_and_comments(case: Case, as_viewer: Client, as_owner: Client) -> None:
    for client in (as_viewer, as_owner):
        assert "Evidence" in text_of(client.get(f"/triage/{case.pk}/"))
        assert client.post(f"/triage/{case.pk}/comment/", {"words": "seen"}).status_code == 302
    assert case.entries.filter(kind="comment").count() == 2


@pytest.mark.parametrize("who", ["reviewer", "staff"])
def test_a_reviewer_and_staff_settle(case: Case, rita: User, who: str) -> None:
    client = signed_in(rita if who == "reviewer" else rows.person("maya", staff=True))
    assert "data-verdict" in html(client.get(f"/triage/{case.pk}/"))
    assert client.post(f"/triage/{case.pk}/settle/", {"verdict": "bug"}).status_code == 302
    case.refresh_from_db()
    assert case.verdict == "bug"


@pytest.mark.parametrize("path", ["", "settle/", "comment/", "assign/"])
def test_an_outsider_reaches_nothing(case: Case, path: str) -> None:
    client = Client()
    answer = client.post(f"/triage/{case.pk}/{path}", {"verdict": "clean", "words": "x"})
    assert answer.status_code == 302
    assert "sign-in" in answer.headers["Location"]
    assert client.get("/triage/").status_code == 302
    case.refresh_from_db()
    assert case.verdict == ""
    assert not case.entries.filter(kind="comment").exists()


@pytest.mark.parametrize("path", ["settle/", "comment/", "assign/"])
def test_acting_takes_a_post_with_a_token(case: Case, rita: User, path: str) -> None:
    assert signed_in(rita).get(f"/triage/{case.pk}/{path}").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(rita)
    assert strict.post(f"/triage/{case.pk}/{path}", {"verdict": "clean", "words": "x"}).status_code == 403


def test_a_case_that_is_not_there_is_said_so(as_viewer: Client) -> None:
    assert as_viewer.get("/triage/424242/").status_code == 404
    assert as_viewer.post("/triage/424242/comment/", {"words": "x"}).status_code == 404
