"""Tokens: who gets in with one, and who does not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from runs import tokens
from runs.api import limits
from runs.api_models import Scope
from runs.models import ApiToken, Run, Submission
from tests.api.asking import Asker, name_of
from tests.api.worlds import text, trajectory_of


def test_a_token_says_whose_it_is_and_notes_its_use(as_alice: Asker) -> None:
    answer = as_alice.get("/me")
    assert answer.json() == {"user": "alice", "role": "runner", "token": "test", "scope": "submit"}
    assert ApiToken.objects.get().last_used is not None


def test_only_a_digest_of_the_secret_is_kept(alice: User) -> None:
    row, secret = tokens.make(alice, "mine", Scope.READ, 7)
    stored = " ".join(str(value) for value in ApiToken.objects.values().get().values())
    assert secret not in stored
    assert secret[8:] not in stored
    assert row.digest == tokens.digest_of(secret)
    assert secret.startswith(row.begins)


def test_without_a_token_nothing_is_read(as_nobody: Asker) -> None:
    answer = as_nobody.get("/problems")
    assert (answer.status_code, name_of(answer)) == (401, "token-missing")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("header", ["Bearer mu_wrong", "Bearer ", "Basic YTpi", "Bearer mu_\ud800x", "mu_wrong"])
def test_what_is_no_token_is_refused(db: None, header: str) -> None:
    asker = Asker(None)
    asker.headers = {"Authorization": header}
    answer = asker.get("/me")
    assert (answer.status_code, name_of(answer)) == (401, "token-unknown")


def test_a_revoked_token_an_expired_one_and_one_of_somebody_who_left(as_alice: Asker, alice: User) -> None:
    row = ApiToken.objects.get()
    row.expires = timezone.now() - timedelta(seconds=1)
    row.save()
    assert name_of(as_alice.get("/me")) == "token-expired"
    assert tokens.revoke(alice, row.pk)
    assert not tokens.revoke(alice, row.pk)
    assert name_of(as_alice.get("/me")) == "token-revoked"
    alice.is_active = False
    alice.save()
    assert name_of(as_alice.get("/me")) == "token-unknown"


def test_nobody_revokes_another_persons_token(as_alice: Asker, as_bob: Asker) -> None:
    row = ApiToken.objects.get(user__username="alice")
    assert not tokens.revoke(User.objects.get(username="bob"), row.pk)
    assert as_alice.get("/me").status_code == 200


def test_a_token_for_reading_posts_nothing(as_reader: Asker, run: Run) -> None:
    key = trajectory_of(run).pk
    assert as_reader.get(f"/trajectories/{key}").status_code == 200
    for path, form in (
        (f"/trajectories/{key}/candidates", {"text": text(1)}),
        (f"/trajectories/{key}/end", {"words": "done"}),
        (f"/runs/{run.pk}/cancel", None),
        ("/runs", {"problems": ["own/1"]}),
    ):
        answer = as_reader.post(path, form)
        assert (answer.status_code, name_of(answer)) == (403, "scope-too-small"), path
    assert not Submission.objects.exists()
    assert Run.objects.count() == 1


def test_wrong_tokens_are_throttled_and_good_ones_are_not(as_alice: Asker) -> None:
    wrong = Asker("mu_wrong")
    for _ in range(limits.FAILURES):
        assert wrong.get("/me").status_code == 401
    answer = wrong.get("/me")
    assert (answer.status_code, name_of(answer)) == (429, "too-many-failures")
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert as_alice.get("/me").status_code == 200


def test_wrong_tokens_are_counted_by_who_is_behind_the_proxy(as_alice: Asker, settings: Any) -> None:
    settings.TRUSTED_PROXIES = 1

    def status(address: str) -> int:
        wrong = {"Authorization": "Bearer mu_wrong", "X-Forwarded-For": address}
        return Client().get("/api/v1/me", headers=wrong).status_code

    assert [status("203.0.113.7") for _ in range(limits.FAILURES + 1)][-2:] == [401, 429]
    assert status("203.0.113.8") == 401


def test_a_caller_has_so_many_requests_a_minute(as_alice: Asker, as_bob: Asker, settings: Any) -> None:
    settings.API_READS_A_MINUTE = 3
    assert [as_alice.get("/me").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert as_bob.get("/me").status_code == 200


def test_a_session_reads_but_writes_only_with_its_csrf_token(alice: User, run: Run) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    browser = Asker(None, client)
    assert browser.get("/me").json() == {"user": "alice", "role": "runner", "token": None, "scope": "submit"}
    path = f"/trajectories/{trajectory_of(run).pk}/candidates"
    answer = browser.post(path, {"text": text(1)})
    assert (answer.status_code, name_of(answer)) == (403, "form-forged")
    client.cookies["csrftoken"] = "a" * 32
    assert browser.post(path, {"text": text(1)}, **{"X-CSRFToken": "a" * 32}).status_code == 201


def test_a_wrong_token_is_not_made_good_by_a_session(alice: User) -> None:
    client = Client()
    client.force_login(alice)
    assert Asker("mu_wrong", client).get("/me").status_code == 401
