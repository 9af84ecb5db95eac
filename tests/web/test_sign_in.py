"""Signing in with a password and with a link that works once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from mucutlass_web import guesses, signin
from mucutlass_web.models import SignInLink
from tests.web.reading import html, text_of

PAGES = ("/", "/runs/", "/runs/new/", "/runs/new/summary/", "/runs/1/", "/runs/1/live/", "/runs/1/chart.json",
         "/runs/1/own/2/1/", "/problems/", "/problems/own/2/", "/fleet/", "/search/?q=a")  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_every_page_sends_an_outsider_to_sign_in(outsider: Client, db: None, page: str) -> None:
    response = outsider.get(page)
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/sign-in/?next=")


def test_name_and_password_sign_in(outsider: Client, alice: User) -> None:
    response = outsider.post("/sign-in/", {"username": "alice", "password": "secret-pass"})
    assert (response.status_code, response.headers["Location"]) == (302, "/runs/")


def test_a_wrong_password_is_said_and_the_name_is_kept(outsider: Client, alice: User) -> None:
    response = outsider.post("/sign-in/", {"username": "alice", "password": "wrong"})
    assert "do not belong together" in text_of(response)
    assert 'value="alice"' in html(response)


def test_guessing_is_stopped_for_that_name_from_that_address(outsider: Client, alice: User, bob: User) -> None:
    cache.clear()
    right = {"username": "alice", "password": "secret-pass"}
    for _ in range(guesses.FAILURES):
        assert outsider.post("/sign-in/", right | {"password": "wrong"}).status_code == 200
    held = outsider.post("/sign-in/", right)
    assert held.status_code == 429
    assert "Too many wrong passwords for 'alice' from this address; try again in" in text_of(held)
    assert 'value="alice"' in html(held)
    assert 0 < int(held.headers["Retry-After"]) <= guesses.WINDOW_S
    assert outsider.post("/sign-in/", right | {"username": " ALICE "}).status_code == 429
    assert Client().post("/sign-in/", right, REMOTE_ADDR="203.0.113.7").status_code == 302
    assert Client().post("/sign-in/", right | {"username": "bob"}).status_code == 302
    cache.clear()


def test_the_right_password_forgets_wrong_ones(outsider: Client, alice: User) -> None:
    cache.clear()
    right = {"username": "alice", "password": "secret-pass"}
    for _ in range(2):
        for _ in range(guesses.FAILURES - 1):
            outsider.post("/sign-in/", right | {"password": "wrong"})
        assert Client().post("/sign-in/", right).status_code == 302


def test_signing_out_takes_a_post(as_alice: Client) -> None:
    assert as_alice.get("/sign-out/").status_code == 405
    as_alice.post("/sign-out/")
    assert as_alice.get("/runs/").status_code == 302


def test_looking_at_a_link_does_not_use_it_up(outsider: Client, alice: User) -> None:
    path = signin.make_link(alice)
    assert "Sign in as alice" in text_of(outsider.get(path))
    assert "Sign in as alice" in text_of(outsider.get(path))
    assert outsider.head(path).status_code == 200
    assert SignInLink.objects.get().used is None


def test_the_button_signs_in_and_uses_the_link_up(outsider: Client, alice: User) -> None:
    path = signin.make_link(alice)
    assert outsider.post(path).headers["Location"] == "/runs/"
    assert outsider.get("/runs/").status_code == 200
    again = Client().post(path)
    assert again.status_code == 410
    assert "no longer signs anyone in" in text_of(again)
    assert "make run" in text_of(again)


def test_an_expired_link_says_what_to_do(outsider: Client, alice: User) -> None:
    path = signin.make_link(alice, hours=1)
    SignInLink.objects.update(expires=timezone.now() - timedelta(seconds=1))
    response = outsider.get(path)
    assert response.status_code == 410
    assert "sign_in_link" in text_of(response)


def test_a_link_of_somebody_who_was_shut_out_opens_nothing(outsider: Client, alice: User) -> None:
    path = signin.make_link(alice)
    User.objects.update(is_active=False)
    assert outsider.post(path).status_code == 410


def test_only_a_digest_of_the_secret_is_kept(alice: User) -> None:
    secret = signin.make_link(alice).strip("/").split("/")[-1]
    assert secret not in SignInLink.objects.get().digest
    assert SignInLink.objects.get().digest == signin.digest_of(secret)
