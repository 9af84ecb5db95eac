"""Single sign-on from the redirect to a signed-in account with its role, and everybody who must not come in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError
from django.test import Client

from mucutlass_web import sso
from mucutlass_web.environment import env_map
from mucutlass_web.models import Identity
from runs import people
from runs.ledger_models import Action, Deed
from runs.roles import Role, role_of
from tests.people.provider import OTHER_KEY, Provider, provider
from tests.web.people_rows import member
from tests.web.reading import html, text_of


@pytest.fixture
def idp(settings: Any, db: None) -> Iterator[Provider]:
    with provider() as said:
        settings.OIDC_ISSUER, settings.OIDC_RP_CLIENT_ID, settings.OIDC_RP_CLIENT_SECRET = said.issuer, "mu", "s3"
        settings.OIDC_ROLE_CLAIM, settings.OIDC_ROLES = "groups", {"kernels": "reviewer", "ops": "admin"}
        settings.OIDC_NAME, settings.OIDC_DEFAULT_ROLE, settings.OIDC_DOMAINS = "Example ID", "viewer", []
        yield said


@pytest.fixture
def root(db: None) -> User:
    """Somebody was here before: the first of an installation becomes admin."""
    return member("root", Role.ADMIN)


def begin(client: Client, idp: Provider, target: str = "") -> dict[str, str]:
    """Press the button; what the provider is asked."""
    sent = client.get(f"/sso/start/{target}")
    assert sent.status_code == 302
    assert sent.headers["Location"].startswith(f"{idp.issuer}/authorize?")
    asked = {key: value[0] for key, value in parse_qs(urlsplit(sent.headers["Location"]).query).items()}
    idp.nonce = asked["nonce"]
    return asked


def come_back(client: Client, asked: dict[str, str]) -> Any:
    return client.get("/sso/callback/", {"code": "c-1", "state": asked["state"]})


def account(name: str) -> User:
    return User.objects.select_related("person").get(username=name)


def test_from_the_button_to_the_runs(idp: Provider, root: User) -> None:
    client = Client()
    assert "Sign in with Example ID" in text_of(client.get("/sign-in/"))
    asked = begin(client, idp, "?next=/fleet/")
    assert asked["redirect_uri"] == "http://testserver/sso/callback/"
    assert (asked["client_id"], asked["code_challenge_method"], asked["scope"]) == (
        "mu", "S256", "openid email profile",
    )  # fmt: skip
    done = come_back(client, asked)
    assert done.headers["Location"] == "/fleet/"
    assert idp.asked["client_secret"] == ["s3"]
    assert len(idp.asked["code_verifier"][0]) >= 43
    zoe = account("zoe")
    assert (role_of(zoe), zoe.email, zoe.has_usable_password()) == (Role.REVIEWER, "zoe@example.org", False)
    assert client.get("/fleet/").status_code == 200
    assert Deed.objects.filter(action=Action.SIGNED_IN)[0].words == "single sign-on"


def test_an_account_is_known_again_by_its_subject(idp: Provider, root: User) -> None:
    come_back(client := Client(), begin(client, idp))
    idp.told |= {"email": "zoe.married@example.org", "preferred_username": "other"}
    come_back(client := Client(), begin(client, idp))
    assert Identity.objects.get().user == account("zoe")
    assert User.objects.count() == 2


def test_an_account_with_the_verified_address_is_taken_over(idp: Provider, root: User, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="Zoe@Example.org")
    come_back(client := Client(), begin(client, idp))
    assert Identity.objects.get().user == alice
    assert role_of(account("alice")) is Role.REVIEWER


def test_roles_follow_the_provider_up_and_down(idp: Provider, root: User) -> None:
    come_back(client := Client(), begin(client, idp))
    idp.told["groups"] = ["ops", "kernels"]
    come_back(client := Client(), begin(client, idp))
    assert role_of(account("zoe")) is Role.ADMIN
    idp.told["groups"] = []
    come_back(client := Client(), begin(client, idp))
    assert role_of(account("zoe")) is Role.VIEWER


def test_the_only_admin_stays_one_whatever_the_provider_says(idp: Provider, db: None) -> None:
    come_back(client := Client(), begin(client, idp))
    assert role_of(account("zoe")) is Role.ADMIN, "the first of an installation"
    come_back(client := Client(), begin(client, idp))
    assert role_of(account("zoe")) is Role.ADMIN


def test_without_a_mapping_roles_are_given_here(idp: Provider, root: User, settings: Any) -> None:
    settings.OIDC_ROLE_CLAIM = ""
    come_back(client := Client(), begin(client, idp))
    assert role_of(account("zoe")) is Role.VIEWER
    people.set_role(account("zoe"), Role.RUNNER, root)
    come_back(client := Client(), begin(client, idp))
    assert role_of(account("zoe")) is Role.RUNNER


def test_a_nested_claim_is_found(idp: Provider, root: User, settings: Any) -> None:
    settings.OIDC_ROLE_CLAIM = "realm.roles"
    idp.told["realm"] = {"roles": ["ops"]}
    come_back(client := Client(), begin(client, idp))
    assert role_of(account("zoe")) is Role.ADMIN


def test_a_claim_whose_name_has_dots_is_found(idp: Provider, root: User, settings: Any) -> None:
    settings.OIDC_ROLE_CLAIM = "https://example.org/roles"
    idp.told["https://example.org/roles"] = ["ops"]
    come_back(client := Client(), begin(client, idp))
    assert role_of(account("zoe")) is Role.ADMIN


def test_an_account_of_another_subject_is_not_taken_over(idp: Provider, root: User, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="zoe@example.org")
    Identity.objects.create(user=alice, issuer=idp.issuer, subject="s-9")
    client = Client()
    refused(client, come_back(client, begin(client, idp)), "is already of somebody else at this provider")
    assert Identity.objects.get().subject == "s-9"


def test_two_tabs_that_come_first_at_the_same_time_sign_in(
    idp: Provider, root: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, told = sso._account, []

    def overtaken(*said: Any) -> tuple[User, bool]:
        told.append(said)
        if len(told) == 1:
            raise IntegrityError("one_account_an_identity")
        return seen(*said)

    monkeypatch.setattr(sso, "_account", overtaken)
    client = Client()
    assert come_back(client, begin(client, idp)).status_code == 302
    assert len(told) == 2
    assert Identity.objects.get().user == account("zoe")


def test_names_do_not_collide(idp: Provider, root: User) -> None:
    member("zoe", Role.RUNNER)
    come_back(client := Client(), begin(client, idp))
    assert Identity.objects.get().user.username == "zoe-2"


def refused(client: Client, answer: Any, said: str) -> None:
    assert answer.status_code == 403
    assert said in text_of(answer)
    assert client.get("/runs/").status_code == 302
    assert not User.objects.filter(username="zoe").exists()
    assert Deed.objects.filter(action=Action.SIGN_IN_FAILED).exists()


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"nonce": "another"}, "The token answers another sign-in (nonce)"),
        ({"aud": "somebody-else"}, "Audience doesn't match"),
        ({"aud": ["mu", "other"]}, "made for another client"),
        ({"aud": ["mu", "other"], "azp": "other"}, "made for another client"),
        ({"iss": "http://evil.example"}, "Invalid issuer"),
        ({"exp": int(time.time()) - 3600}, "Signature has expired"),
        ({"sub": "s-2"}, "The provider told of somebody else"),
    ],
)
def test_a_token_that_is_not_for_us_opens_nothing(
    idp: Provider, root: User, claims: dict[str, Any], said: str
) -> None:
    client = Client()
    asked = begin(client, idp)
    idp.claims = claims
    refused(client, come_back(client, asked), said)


def test_a_token_of_another_key_opens_nothing(idp: Provider, root: User) -> None:
    client = Client()
    idp.key = OTHER_KEY
    refused(client, come_back(client, begin(client, idp)), "Signature verification failed")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"email_verified": False}, "The address zoe@example.org is not verified there"),
        ({"email_verified": None}, "is not verified there"),
        ({"email": ""}, "The provider named no e-mail address"),
        ({"email": "zoe@evil.example"}, "Accounts of evil.example do not sign in here; example.org, lab.org"),
        ({"email": "zoe@evil.example@example.org.evil.example"}, "Accounts of example.org.evil.example"),
    ],
)
def test_an_address_that_will_not_do_opens_nothing(
    idp: Provider, root: User, settings: Any, told: dict[str, Any], said: str
) -> None:
    settings.OIDC_DOMAINS = ["example.org", "lab.org"]
    client = Client()
    idp.told |= told
    answer = come_back(client, begin(client, idp))
    refused(client, answer, said.replace("here; example.org, lab.org", "here; one of example.org, lab.org"))


def test_a_state_that_is_not_of_this_browser_opens_nothing(idp: Provider, root: User) -> None:
    begin(client := Client(), idp)
    refused(
        client, come_back(client, {"state": "made-up"}), "Its state is not of a sign-in that began in this browser"
    )
    stranger = Client()
    refused(stranger, come_back(stranger, begin(Client(), idp)), "no answer to a sign-in that began here")


def test_a_state_serves_once(idp: Provider, root: User) -> None:
    asked = begin(client := Client(), idp)
    assert come_back(client, asked).status_code == 302
    assert come_back(client, asked).status_code == 403


def test_somebody_without_a_role_there_is_refused_where_none_is_the_default(
    idp: Provider, root: User, settings: Any
) -> None:
    settings.OIDC_DEFAULT_ROLE = ""
    idp.told["groups"] = ["strangers"]
    client = Client()
    refused(client, come_back(client, begin(client, idp)), "The provider gives you no role here")


def test_who_was_shut_out_stays_out_and_their_session_ends(idp: Provider, root: User) -> None:
    client = Client()
    come_back(client, begin(client, idp))
    people.deactivate(account("zoe"), root)
    assert client.get("/runs/").status_code == 302
    again = Client()
    answer = come_back(again, begin(again, idp))
    assert answer.status_code == 403
    assert "This account was deactivated" in text_of(answer)


def test_what_the_provider_says_no_to_is_said(idp: Provider, root: User) -> None:
    client = Client()
    said = f"/sso/callback/?error=access_denied&state={begin(client, idp)['state']}"
    refused(client, client.get(said), "access_denied")
    assert "no answer to a sign-in that began here" in text_of(client.get(said)), "a state serves once"
    assert Deed.objects.filter(action=Action.SIGN_IN_FAILED).count() == 1


def test_words_of_anybody_do_not_come_into_the_log(idp: Provider, root: User) -> None:
    begin(client := Client(), idp)
    for browser in (client, Client()):
        answer = browser.get("/sso/callback/?error=lies&state=made-up")
        assert answer.status_code == 403
        assert "no answer to a sign-in that began here" in text_of(answer)
    assert not Deed.objects.filter(action=Action.SIGN_IN_FAILED).exists()


def test_a_provider_that_does_not_answer_is_said(idp: Provider, settings: Any) -> None:
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    answer = Client().get("/sso/start/")
    assert answer.status_code == 403
    assert "does not answer (ConnectionError)" in text_of(answer)


def test_it_is_off_without_a_provider(settings: Any, db: None) -> None:
    settings.OIDC_ISSUER = ""
    assert "/sso/" not in html(Client().get("/sign-in/"))
    assert Client().get("/sso/start/").status_code == 404
    assert Client().get("/sso/callback/?code=a&state=b").status_code == 404


def test_a_password_is_never_asked_of_the_provider(idp: Provider, alice: User, settings: Any) -> None:
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    assert Client().post("/sign-in/?code=a&state=b", {"username": "alice", "password": "wrong"}).status_code == 200
    done = Client().post("/sign-in/?code=a&state=b", {"username": "alice", "password": "secret-pass"})
    assert done.status_code == 302


def test_a_mapping_with_an_unknown_role_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUCUTLASS_OIDC_ROLES", "a=admin, b=king")
    with pytest.raises(ValueError, match="has 'b=king'; NAME=ROLE with a role of"):
        env_map("MUCUTLASS_OIDC_ROLES", tuple(Role))
    monkeypatch.setenv("MUCUTLASS_OIDC_ROLES", "a=admin, b = runner,")
    assert env_map("MUCUTLASS_OIDC_ROLES", tuple(Role)) == {"a": "admin", "b": "runner"}
