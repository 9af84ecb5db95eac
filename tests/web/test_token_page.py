"""The page of API tokens, and the API's own page."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles.finders import find
from django.test import Client

from mucutlass_web import finders
from runs import tokens
from runs.api_models import Scope
from runs.models import ApiToken
from tests.web import gallery
from tests.web.gallery import HOSTILE
from tests.web.reading import html, links, text_of

GOOD = {"name": "night agent", "scope": "submit", "days": "30"}


def test_the_account_menu_leads_there(as_alice: Client) -> None:
    assert {"/account/tokens/", "/api/"} <= set(links(html(as_alice.get("/runs/"))))
    assert "No tokens yet." in text_of(as_alice.get("/account/tokens/"))


def test_a_secret_is_shown_once_and_opens_the_api(as_alice: Client, alice: User) -> None:
    shown = as_alice.post("/account/tokens/", GOOD)
    found = re.search(r'id="secret">(mu_[^<]+)<', html(shown))
    assert found is not None
    assert "no-store" in shown.headers["Cache-Control"]
    assert found[1] not in html(as_alice.get("/account/tokens/"))
    answer = Client().get("/api/v1/me", headers={"Authorization": f"Bearer {found[1]}"})
    assert answer.json() == {"user": "alice", "role": "runner", "token": "night agent", "scope": "submit"}
    row = ApiToken.objects.get()
    assert (row.user, round((row.expires - row.created).total_seconds() / 86400)) == (alice, 30)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "", "empty; what the token is for"),
        ("name", "x" * 81, "longer than 80 characters"),
        ("scope", "everything", "unknown; read or submit"),
        ("days", "4000", "unknown; one of 1, 7, 30, 90, 365 days"),
    ],
)
def test_a_wrong_field_is_said_beside_it(as_alice: Client, field: str, value: str, said: str) -> None:
    answer = as_alice.post("/account/tokens/", {**GOOD, field: value})
    assert answer.status_code == 422
    assert said in text_of(answer)
    assert not ApiToken.objects.exists()


def test_one_revokes_ones_own_and_nobody_elses(as_alice: Client, as_bob: Client, alice: User) -> None:
    row, _ = tokens.make(alice, HOSTILE, Scope.READ, 1)
    assert HOSTILE not in html(as_alice.get("/account/tokens/"))
    assert as_bob.post(f"/account/tokens/{row.pk}/revoke/").status_code == 404
    assert as_alice.get(f"/account/tokens/{row.pk}/revoke/").status_code == 405
    assert as_alice.post(f"/account/tokens/{row.pk}/revoke/").status_code == 302
    row.refresh_from_db()
    assert row.state == "revoked"
    page = text_of(as_alice.get("/account/tokens/"))
    assert "it opens nothing any more" in page
    assert as_alice.post(f"/account/tokens/{row.pk}/revoke/").status_code == 404


def test_each_sees_ones_own(as_bob: Client, alice: User) -> None:
    tokens.make(alice, "hers alone", Scope.READ, 1)
    assert "hers alone" not in text_of(as_bob.get("/account/tokens/"))


def test_there_is_an_end_to_how_many_stand(as_alice: Client, alice: User) -> None:
    for number in range(50):
        tokens.make(alice, f"t{number}", Scope.READ, 1)
    assert "50 tokens stand already" in text_of(as_alice.post("/account/tokens/", GOOD))
    tokens.revoke(alice, ApiToken.objects.latest("pk").pk)
    assert as_alice.post("/account/tokens/", GOOD).status_code == 200


def test_signing_in_comes_first(outsider: Client) -> None:
    for path in ("/account/tokens/", "/api/"):
        assert outsider.get(path).headers["Location"].startswith("/sign-in/")


def test_the_apis_page_takes_everything_from_here(as_alice: Client) -> None:
    page = html(as_alice.get("/api/"))
    assert "swagger-ui-bundle.js" in page
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    for name in finders.SwaggerFinder.names:
        assert (finders.swagger_directory() / name).exists()


@pytest.mark.parametrize("path", ["swagger/nothing.js", "plotly/nothing.js", "nothing.js"])
def test_a_file_that_is_nowhere_is_not_found(path: str) -> None:
    assert find(path) is None
    assert find(path, find_all=True) == []


def test_a_run_that_waits_for_a_post_says_so(as_alice: Client, alice: User) -> None:
    run = gallery.run(alice, "From outside", proposer="external")
    gallery.trajectory(run, gallery.problems(1)[0])
    assert "waits for a post" in text_of(as_alice.get(f"/runs/{run.pk}/"))
