"""Coming in by a link: as a new account or with the one somebody has, as often as the link lets."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from runs import invitations, people
from runs.ledger_models import Action, Deed
from runs.people_errors import InvitationUnfit, InvitationUsed, UnknownRole
from runs.people_models import Invitation
from runs.roles import Role, role_of
from tests.web.people_rows import browser_of, member, team
from tests.web.reading import html, text_of

GOOD = {"username": "zoe", "password": "long-enough-7", "again": "long-enough-7"}


def again(user: User) -> User:
    return User.objects.select_related("person").get(pk=user.pk)


def test_the_link_is_shown_once_and_only_a_digest_is_kept(as_maya: Client) -> None:
    made = as_maya.post("/people/invitations/", {"role": "reviewer", "days": "7", "most": "2"})
    link = html(made).split('<code id="secret">')[1].split("</code>")[0]
    secret = link.strip("/").split("/")[-1]
    row = Invitation.objects.get()
    assert link == f"http://testserver/join/{secret}/"
    assert row.digest == invitations.digest_of(secret)
    assert secret not in html(as_maya.get("/people/invitations/"))
    assert "no-store" in made.headers["Cache-Control"]
    assert (row.role, row.most, row.used, row.team) == ("reviewer", 2, 0, None)
    assert Deed.objects.get(action=Action.INVITED).words == "2 reviewers, 7 days"


def test_a_newcomer_gets_role_and_team(maya: User) -> None:
    _, secret = invitations.make(maya, "reviewer", team("Gemm"), 7, 1)
    client = Client()
    assert "As reviewer, who settles flags" in text_of(client.get(f"/join/{secret}/"))
    answer = client.post(f"/join/{secret}/", GOOD)
    assert answer.headers["Location"] == "/runs/"
    zoe = again(User.objects.get(username="zoe"))
    assert role_of(zoe) is Role.REVIEWER
    assert [one.name for one in zoe.teams.all()] == ["Gemm"]
    assert client.get("/runs/").status_code == 200
    assert Client().login(username="zoe", password="long-enough-7")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"password": "short", "again": "short"}, "too short"),
        ({"password": "password", "again": "password"}, "too common"),
        ({"again": "another-word-8"}, "Not the same password as above"),
        ({"username": "MAYA"}, "Taken; another name would be right"),
        ({"username": "a b"}, "Enter a valid username"),
        ({"username": ""}, "Empty; the name that others see"),
    ],
)
def test_what_is_wrong_with_a_new_account_uses_nothing_up(maya: User, changed: dict[str, str], said: str) -> None:
    row, secret = invitations.make(maya, "runner", None, 7, 1)
    answer = Client().post(f"/join/{secret}/", GOOD | changed)
    assert answer.status_code == 422
    assert said in text_of(answer)
    row.refresh_from_db()
    assert row.used == 0
    assert User.objects.count() == 1


def test_somebody_with_an_account_takes_more_rights_and_never_fewer(maya: User, alice: User) -> None:
    vera = member("vera", Role.VIEWER)
    _, secret = invitations.make(maya, "reviewer", team("Gemm"), 7, 5)
    page = text_of(browser_of(vera).get(f"/join/{secret}/"))
    assert "Accept as vera" in page
    assert "You become reviewer" in page
    browser_of(vera).post(f"/join/{secret}/")
    assert role_of(again(vera)) is Role.REVIEWER
    assert "Your role stays as it is" in text_of(browser_of(maya).get(f"/join/{secret}/"))
    browser_of(maya).post(f"/join/{secret}/")
    assert role_of(again(maya)) is Role.ADMIN
    assert sorted(one.username for one in team_members()) == ["maya", "vera"]


def team_members() -> list[User]:
    return list(User.objects.filter(teams__name="Gemm"))


def test_a_link_lets_in_as_many_as_it_says(maya: User) -> None:
    row, secret = invitations.make(maya, "runner", None, 7, 2)
    for name in ("one", "two"):
        assert Client().post(f"/join/{secret}/", GOOD | {"username": name}).status_code == 302
    late = Client().post(f"/join/{secret}/", GOOD)
    assert late.status_code == 410
    assert "This invitation was used 2 times, as often as it may be" in text_of(late)
    row.refresh_from_db()
    assert row.state == "used"


def test_of_two_at_the_same_time_one_comes_in(maya: User, monkeypatch: pytest.MonkeyPatch) -> None:
    row, secret = invitations.make(maya, "runner", None, 7, 1)
    seen = invitations.opened

    def overtaken(text: str) -> Invitation:
        found = seen(text)
        Invitation.objects.filter(pk=row.pk).update(used=1)
        return found

    monkeypatch.setattr(invitations, "opened", overtaken)
    with pytest.raises(InvitationUsed):
        invitations.join(secret, "zoe", "long-enough-7")
    assert not User.objects.filter(username="zoe").exists()


def test_what_stands_against_a_link_is_said(as_maya: Client, maya: User) -> None:
    row, secret = invitations.make(maya, "runner", None, 7, 1)
    assert "copied in part" in text_of(Client().get("/join/nothing/"))
    Invitation.objects.update(expires=timezone.now() - timedelta(seconds=1))
    assert "This invitation expired on" in text_of(Client().get(f"/join/{secret}/"))
    Invitation.objects.update(expires=timezone.now() + timedelta(days=1))
    as_maya.post(f"/people/invitations/{row.pk}/revoke/")
    gone = Client().get(f"/join/{secret}/")
    assert gone.status_code == 410
    assert "This invitation was revoked" in text_of(gone)


def test_an_invitation_without_sense_is_refused(as_maya: Client, maya: User) -> None:
    with pytest.raises(UnknownRole):
        invitations.make(maya, "king", None, 7, 1)
    with pytest.raises(InvitationUnfit):
        invitations.make(maya, "viewer", None, 8, 1)
    refused = as_maya.post("/people/invitations/", {"role": "viewer", "days": "7", "most": "0"})
    assert refused.status_code == 422
    assert "The number of uses is 0; 1 to 100 would be right" in text_of(refused)
    assert not Invitation.objects.exists()


def test_a_look_uses_nothing_up(maya: User) -> None:
    row, secret = invitations.make(maya, "runner", None, 7, 1)
    for _ in range(2):
        Client().get(f"/join/{secret}/")
    row.refresh_from_db()
    assert row.used == 0


def test_accepting_twice_uses_one_place_up(maya: User) -> None:
    row, secret = invitations.make(maya, "reviewer", team("Gemm"), 7, 1)
    browser = browser_of(vera := member("vera", Role.VIEWER))
    for _ in range(2):
        assert browser.post(f"/join/{secret}/").headers["Location"] == f"/people/{vera.pk}/"
    row.refresh_from_db()
    assert row.used == 1
    assert Deed.objects.filter(action=Action.JOINED).count() == 1
    assert browser_of(member("zoe", Role.VIEWER)).post(f"/join/{secret}/").status_code == 410


@pytest.mark.parametrize("way", ["deactivated", "demoted"])
def test_who_is_no_admin_any_more_does_not_come_back_by_their_own_link(maya: User, way: str) -> None:
    old = member("old", Role.ADMIN)
    row, secret = invitations.make(old, "admin", None, 7, 5)
    other, _ = invitations.make(maya, "viewer", None, 7, 5)
    if way == "demoted":
        people.set_role(old, Role.RUNNER, maya)
    else:
        people.deactivate(old, maya)
    assert Client().post(f"/join/{secret}/", GOOD).status_code == 410
    row.refresh_from_db()
    other.refresh_from_db()
    assert (row.state, other.state) == ("revoked", "open")
    assert Deed.objects.get(action=Action.UNINVITED).user == maya


def test_the_secret_of_a_link_is_not_in_the_log(maya: User) -> None:
    _, secret = invitations.make(maya, "runner", None, 7, 1)
    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    kept = Kept()
    logging.getLogger().addHandler(kept)
    try:
        assert Client().post(f"/join/{secret}/", GOOD | {"again": "no"}).status_code == 422
        assert Client(enforce_csrf_checks=True).post(f"/join/{secret}/", GOOD).status_code == 403
        assert Client().delete(f"/enter/{secret}/").status_code == 405
    finally:
        logging.getLogger().removeHandler(kept)
    assert [line for line in said if "/join/…" in line or "/enter/…" in line] == said
    assert len(said) >= 3
    assert secret not in " ".join(said)
