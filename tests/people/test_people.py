"""Roles are given and kept, people are shut out at once, teams hold runs."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.test import Client

from runs import people, tokens
from runs.api_models import Scope
from runs.ledger_models import Action, Deed
from runs.people_errors import LastAdmin, TeamNameTaken, TeamNameUnfit
from runs.people_list import figures_of
from runs.people_models import Person, Team
from runs.roles import Role, role_of
from tests.web import gallery
from tests.web.people_rows import browser_of, member, team
from tests.web.reading import html, links, text_of


def again(user: User) -> User:
    return User.objects.select_related("person").get(pk=user.pk)


class TestRoles:
    def test_an_admin_gives_a_role_and_the_log_says_so(self, as_maya: Client, alice: User, maya: User) -> None:
        response = as_maya.post(f"/people/{alice.pk}/role/", {"role": "reviewer"}, follow=True)
        assert "Alice is reviewer now: settles flags" in text_of(response).replace("alice", "Alice")
        assert role_of(again(alice)) is Role.REVIEWER
        deed = Deed.objects.filter(action=Action.ROLE).get()
        assert (deed.user, deed.kind, deed.key, deed.words) == (maya, "person", str(alice.pk), "runner to reviewer")

    def test_the_only_admin_stays_one(self, as_maya: Client, maya: User) -> None:
        response = as_maya.post(f"/people/{maya.pk}/role/", {"role": "viewer"}, follow=True)
        assert "Maya is the only admin; make somebody else one first." in text_of(response)
        assert role_of(again(maya)) is Role.ADMIN
        with pytest.raises(LastAdmin):
            people.deactivate(maya, maya)

    def test_an_admin_who_is_shut_out_does_not_count(self, alice: User, maya: User) -> None:
        people.set_role(alice, Role.ADMIN, maya)
        people.deactivate(alice, maya)
        with pytest.raises(LastAdmin):
            people.set_role(maya, Role.RUNNER, maya)

    def test_of_two_admins_who_demote_each_other_one_stays(
        self, alice: User, maya: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        people.set_role(alice, Role.ADMIN, maya)
        fetched = QuerySet._fetch_all

        def after_a_wait(rows: QuerySet[Any]) -> None:
            """PostgreSQL gives rows that were waited for with their joins of before; the other admin was first."""
            fetched(rows)
            if rows.query.select_for_update:
                Person.objects.filter(user=alice).update(role=Role.VIEWER.value)

        monkeypatch.setattr(QuerySet, "_fetch_all", after_a_wait)
        with pytest.raises(LastAdmin):
            people.set_role(maya, Role.VIEWER, alice)
        assert role_of(again(maya)) is Role.ADMIN

    def test_staff_lose_djangos_marks_with_the_role(self, alice: User, maya: User) -> None:
        people.set_role(alice, Role.ADMIN, maya)
        people.set_role(maya, Role.VIEWER, alice)
        assert role_of(again(maya)) is Role.VIEWER
        assert not again(maya).is_staff

    def test_a_role_that_there_is_not_changes_nothing(self, as_maya: Client, alice: User) -> None:
        response = as_maya.post(f"/people/{alice.pk}/role/", {"role": "king"}, follow=True)
        assert "'king' is no role; it is one of viewer, runner, reviewer, admin." in text_of(response)
        assert not Person.objects.filter(user=alice).exists()


class TestShuttingOut:
    def test_sessions_and_tokens_end_at_once(self, as_maya: Client, alice: User, as_alice: Client) -> None:
        _, secret = tokens.make(alice, "agent", Scope.READ, 7)
        bearer: dict[str, Any] = {"HTTP_AUTHORIZATION": f"Bearer {secret}"}
        assert as_alice.get("/runs/").status_code == 200
        assert Client().get("/api/v1/me", **bearer).status_code == 200
        as_maya.post(f"/people/{alice.pk}/deactivate/")
        assert as_alice.get("/runs/").headers["Location"].startswith("/sign-in/")
        assert Client().get("/api/v1/me", **bearer).status_code == 401
        assert Session.objects.count() == 1

    def test_who_is_let_in_again_signs_in_anew(self, as_maya: Client, alice: User, as_alice: Client) -> None:
        _, secret = tokens.make(alice, "agent", Scope.READ, 7)
        as_maya.post(f"/people/{alice.pk}/deactivate/")
        as_maya.post(f"/people/{alice.pk}/reactivate/")
        assert as_alice.get("/runs/").status_code == 302
        assert Client().get("/api/v1/me", HTTP_AUTHORIZATION=f"Bearer {secret}").status_code == 401
        assert Client().login(username="alice", password="secret-pass")

    def test_who_was_shut_out_is_found_in_a_list_of_their_own(
        self, as_maya: Client, alice: User, maya: User
    ) -> None:
        people.deactivate(alice, maya)
        assert ">alice<" not in html(as_maya.get("/people/"))
        assert ">alice<" in html(as_maya.get("/people/?gone=1"))


class TestPages:
    def test_the_list_says_role_teams_runs_and_tokens(self, as_maya: Client, alice: User) -> None:
        gallery.near_sol(alice)
        tokens.make(alice, "agent", Scope.READ, 7)
        team("Attention", alice)
        text = text_of(as_maya.get("/people/?q=ali"))
        assert "alice runner Attention" in text
        assert "1 runs of alice 1" in text

    def test_others_see_who_is_here_but_change_nothing(self, as_alice: Client, maya: User) -> None:
        page = html(as_alice.get("/people/"))
        assert ">maya<" in page
        assert "Tokens" not in page
        assert "/people/invitations/" not in page
        assert "/role/" not in html(as_alice.get(f"/people/{maya.pk}/"))
        assert ">People</a>" not in page.split("<main")[0].split("<nav")[1]

    def test_roles_have_counts_and_filter(self, as_maya: Client, alice: User) -> None:
        member("vera", Role.VIEWER)
        page = as_maya.get("/people/?role=viewer")
        assert "viewer 1 runner 1 reviewer 0 admin 1" in text_of(page)
        assert ">vera<" in html(page)
        assert ">alice<" not in html(page)

    def test_only_admins_look_for_addresses(self, as_maya: Client, as_alice: Client, bob: User) -> None:
        User.objects.filter(pk=bob.pk).update(email="hidden@example.org")
        assert ">bob<" in html(as_maya.get("/people/?q=hidden@"))
        page = as_alice.get("/people/?q=hidden@")
        assert ">bob<" not in html(page)
        assert "viewer 0 runner 0 reviewer 0 admin 0" in text_of(page)

    def test_a_filter_that_finds_nobody_says_so(self, as_maya: Client) -> None:
        assert "Nobody is listed with this filter" in text_of(as_maya.get("/people/?q=zebra"))

    def test_it_takes_a_fixed_number_of_queries(
        self, as_maya: Client, alice: User, django_assert_max_num_queries: Any
    ) -> None:
        for number in range(12):
            team(f"team {number}", member(f"m{number}", Role.RUNNER), alice)
        as_maya.get("/people/")
        with django_assert_max_num_queries(9):
            as_maya.get("/people/")
        with django_assert_max_num_queries(11):
            as_maya.get(f"/people/{alice.pk}/")

    def test_a_person_is_an_account(self, as_maya: Client) -> None:
        assert as_maya.get("/people/999/").status_code == 404


class TestTeams:
    def test_a_team_is_made_named_filled_and_ended(self, as_maya: Client, alice: User) -> None:
        made = as_maya.post("/people/teams/", {"name": "  Matrix   people "})
        found = Team.objects.get()
        assert made.headers["Location"] == f"/people/teams/{found.pk}/"
        assert found.name == "Matrix people"
        as_maya.post(f"/people/teams/{found.pk}/member/", {"name": "alice"})
        as_maya.post(f"/people/teams/{found.pk}/rename/", {"name": "Gemm"})
        page = as_maya.get(f"/people/teams/{found.pk}/")
        assert "Gemm" in text_of(page)
        assert f"/people/{alice.pk}/" in links(html(page))
        as_maya.post(f"/people/teams/{found.pk}/member/", {"name": "alice", "out": "1"})
        assert not found.members.exists()
        as_maya.post(f"/people/teams/{found.pk}/delete/")
        assert not Team.objects.exists()
        said = list(Deed.objects.filter(action=Action.TEAM).order_by("id").values_list("words", flat=True))
        assert said == ["made", "alice came in", "renamed to Gemm", "alice went out"]

    def test_a_name_that_is_taken_or_empty_is_said(self, as_maya: Client, maya: User) -> None:
        people.make_team("Gemm", maya)
        refused = as_maya.post("/people/teams/", {"name": "gemm"})
        assert refused.status_code == 422
        assert "There is a team 'gemm' already" in text_of(refused)
        with pytest.raises(TeamNameUnfit):
            people.make_team("\0 ", maya)
        with pytest.raises(TeamNameTaken):
            people.rename_team(people.make_team("Conv", maya), "GEMM", maya)

    def test_somebody_who_is_not_here_cannot_come_in(self, as_maya: Client, maya: User) -> None:
        made = people.make_team("Gemm", maya)
        said = as_maya.post(f"/people/teams/{made.pk}/member/", {"name": "zoe"}, follow=True)
        assert "There is no account 'zoe'" in text_of(said)

    def test_its_page_has_its_members_runs_and_figures(self, as_maya: Client, alice: User, bob: User) -> None:
        mine, other = gallery.near_sol(alice), gallery.mid_flight(bob)
        made = team("Gemm", alice)
        page = html(as_maya.get(f"/people/teams/{made.pk}/"))
        assert f"/runs/{mine.pk}/" in links(page)
        assert f"/runs/{other.pk}/" not in links(page)
        figures = figures_of(made)
        assert (figures.runs, figures.live, figures.problems, figures.passing) == (1, 0, 1, 1)
        assert figures.gap == pytest.approx(mine.trajectories.get().gap)

    def test_a_problem_without_a_kernel_counts_at_its_baseline(self, alice: User) -> None:
        run = gallery.run(alice)
        first, second = (gallery.trajectory(run, one) for one in gallery.problems(2))
        for row, best, eager in ((first, 2.0, 9.0), (second, None, 8.0)):
            row.best_s, row.eager_s = best and best * (row.sol_s or 0), eager * (row.sol_s or 0)
            row.save()
        assert figures_of(team("Gemm", alice)).gap == pytest.approx(4.0)

    def test_a_team_without_runs_has_no_gap(self, as_maya: Client, alice: User) -> None:
        made = team("Gemm", alice)
        assert figures_of(made).gap is None
        assert "nothing was run yet" in text_of(as_maya.get(f"/people/teams/{made.pk}/"))

    def test_the_list_of_runs_narrows_to_a_team(self, as_maya: Client, alice: User, bob: User) -> None:
        mine, other = gallery.near_sol(alice), gallery.cancelled(bob)
        made = team("Gemm", alice)
        page = html(as_maya.get(f"/runs/?team={made.pk}"))
        assert f"/runs/{mine.pk}/" in links(page)
        assert f"/runs/{other.pk}/" not in links(page)
        assert "All 1" in text_of(as_maya.get(f"/runs/?team={made.pk}"))

    def test_its_page_takes_a_fixed_number_of_queries(
        self, as_maya: Client, alice: User, bob: User, django_assert_max_num_queries: Any
    ) -> None:
        made = team("Gemm", alice, bob)
        for owner in (alice, bob, alice):
            gallery.near_sol(owner)
        with django_assert_max_num_queries(12):
            as_maya.get(f"/people/teams/{made.pk}/")


@pytest.mark.django_db
def test_when_somebody_was_seen_is_written_now_and_then(settings: Any) -> None:
    settings.SEEN_EVERY_S = 60
    vera = member("vera", Role.VIEWER)
    client = browser_of(vera)
    seen = Person.objects.get(user=vera).seen
    assert seen is not None
    client.get("/account/tokens/")
    assert Person.objects.get(user=vera).seen == seen
    Person.objects.update(seen=seen.replace(year=seen.year - 1))
    client.get("/account/tokens/")
    assert (Person.objects.get(user=vera).seen or seen) > seen
    assert Person.objects.get(user=vera).role == Role.VIEWER
