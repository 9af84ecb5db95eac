"""Who did what is written once, from everywhere, and read by admins."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from runs import ledger, tokens
from runs.api_models import Scope
from runs.ledger import shortened
from runs.ledger_links import link_of
from runs.ledger_models import Action, Deed, LedgerClosed, Through
from sol import cases
from tests.web import gallery
from tests.web.address_book import SEVERE
from tests.web.reading import html, links, text_of


def last(action: Action) -> Deed:
    return Deed.objects.filter(action=action)[0]


def older(page: str) -> str:
    """Where the next page is."""
    return next(link for link in links(page) if link.startswith("?") and "before=" in link)


class TestWriting:
    def test_signing_in_and_out_and_failing(self, alice: User) -> None:
        client = Client(REMOTE_ADDR="203.0.113.7")
        client.post("/sign-in/", {"username": "alice", "password": "wrong"})
        client.post("/sign-in/", {"username": "hunter2, my password", "password": "x"})
        client.post("/sign-in/", {"username": "alice", "password": "secret-pass"})
        client.post("/sign-out/")
        told = [(one.action, one.name, one.address, one.through) for one in Deed.objects.order_by("id")]
        assert told == [
            (Action.SIGN_IN_FAILED, "alice", "203.0.113.0/24", Through.PAGE),
            (Action.SIGN_IN_FAILED, "an unknown name", "203.0.113.0/24", Through.PAGE),
            (Action.SIGNED_IN, "alice", "203.0.113.0/24", Through.PAGE),
            (Action.SIGNED_OUT, "alice", "203.0.113.0/24", Through.PAGE),
        ]

    def test_cancelling_by_page_and_by_token(self, as_alice: Client, alice: User) -> None:
        first, second = gallery.mid_flight(alice), gallery.queued_without_worker(alice)
        _, secret = tokens.make(alice, "agent", Scope.SUBMIT, 7)
        as_alice.post(f"/runs/{first.pk}/cancel/")
        assert (last(Action.CANCELLED).through, last(Action.CANCELLED).key) == (Through.PAGE, str(first.pk))
        Client().post(f"/api/v1/runs/{second.pk}/cancel", HTTP_AUTHORIZATION=f"Bearer {secret}")
        deed = last(Action.CANCELLED)
        assert (deed.through, deed.user, deed.kind, deed.key) == (Through.API, alice, "run", str(second.pk))
        assert link_of(deed) == f"/runs/{second.pk}/"

    def test_launching_by_token(self, alice: User) -> None:
        on = gallery.problem(1)
        _, secret = tokens.make(alice, "agent", Scope.SUBMIT, 7)
        body = {"problems": [on.slug]}
        Client().post("/api/v1/runs", body, "application/json", HTTP_AUTHORIZATION=f"Bearer {secret}")
        deed = last(Action.LAUNCHED)
        assert (deed.user, deed.through, deed.kind, deed.what) == (
            alice,
            Through.API,
            "run",
            f"r-{deed.key} {on.name}",
        )

    def test_tokens(self, as_alice: Client, alice: User) -> None:
        as_alice.post("/account/tokens/", {"name": "agent", "scope": "read", "days": "7"})
        assert last(Action.TOKEN_MADE).what == "token agent"
        as_alice.post(f"/account/tokens/{alice.api_tokens.get().pk}/revoke/")
        assert last(Action.TOKEN_REVOKED).name == "alice"

    def test_verdicts_and_taking_them_back(self, alice: User, maya: User) -> None:
        run = gallery.near_sol(alice)
        best = run.trajectories.get().best
        assert best is not None
        case = cases.raise_flags(best.kernel, best.trajectory.problem, [SEVERE], best.evaluation)
        assert case is not None
        assert not Deed.objects.filter(action=Action.VERDICT).exists()
        batch = cases.settle([case], "clean", maya, "it is fine")
        deed = last(Action.VERDICT)
        assert (deed.user, deed.words, deed.what) == (maya, "clean: it is fine", f"case {case.pk}")
        cases.undo(batch, maya)
        assert last(Action.VERDICT_UNDONE).user == maya

    def test_deleting_a_run_names_it_for_ever(self, as_alice: Client, alice: User) -> None:
        run = gallery.near_sol(alice)
        as_alice.post(f"/runs/{run.pk}/delete/")
        deed = last(Action.DELETED)
        assert (deed.what, deed.words) == (f"r-{run.pk} Gemm_Bias_ReLU", "of alice")

    def test_an_account_that_goes_leaves_its_name(self, alice: User) -> None:
        ledger.record(alice, Action.SIGNED_OUT)
        alice.delete()
        deed = last(Action.SIGNED_OUT)
        assert (deed.user, deed.name, deed.through, deed.address) == (None, "alice", Through.CLI, "")

    def test_nothing_is_changed_or_removed(self, alice: User) -> None:
        deed = ledger.record(alice, Action.SIGNED_OUT)
        deed.name = "bob"
        for attempt in (deed.save, deed.delete, Deed.objects.all().delete, lambda: Deed.objects.update(name="bob")):
            with pytest.raises(LedgerClosed):
                attempt()
        assert Deed.objects.get().name == "alice"


@pytest.mark.parametrize(
    ("address", "short"),
    [
        ("203.0.113.7", "203.0.113.0/24"),
        ("2001:db8:77:1::5", "2001:db8:77::/48"),
        ("::ffff:203.0.113.7", "203.0.113.0/24"),
        ("127.0.0.1", "127.0.0.1"),
        ("", ""),
        ("unix:", ""),
    ],
)
def test_addresses_are_shortened(address: str, short: str) -> None:
    assert shortened(address) == short


def test_a_proxy_in_front_is_believed_only_where_it_is_named(settings: Any, alice: User) -> None:
    passed: dict[str, Any] = {"HTTP_X_FORWARDED_FOR": "198.51.100.9, 203.0.113.7", "REMOTE_ADDR": "10.0.0.1"}
    Client(**passed).post("/sign-in/", {"username": "alice", "password": "no"})
    assert Deed.objects.all()[0].address == "10.0.0.0/24"
    settings.TRUSTED_PROXIES = 1
    Client(**passed).post("/sign-in/", {"username": "alice", "password": "no"})
    assert Deed.objects.all()[0].address == "203.0.113.0/24"


class TestReading:
    def test_it_is_for_admins(self, as_alice: Client, as_maya: Client) -> None:
        refused = as_alice.get("/people/log/")
        assert refused.status_code == 403
        assert "It takes the role admin to manage people" in text_of(refused)
        assert as_alice.get("/people/log.csv").status_code == 403
        assert "maya signed in" in text_of(as_maya.get("/people/log/"))

    def test_filters_are_in_the_address(self, as_maya: Client, alice: User, maya: User) -> None:
        ledger.record(alice, Action.LAUNCHED, what="r-1 Gemm")
        ledger.record(maya, Action.DELETED, what="r-2 Conv")
        page = text_of(as_maya.get("/people/log/?who=alice&action=launched&through=cli"))
        assert "r-1 Gemm" in page
        assert "r-2 Conv" not in page
        assert "Nothing is logged with this filter" in text_of(as_maya.get("/people/log/?until=2001-01-01"))
        assert "r-2 Conv" in text_of(as_maya.get("/people/log/?since=2001-01-01&until=nonsense&action=nonsense"))

    def test_pages_go_by_key_and_stay_when_more_comes(self, as_maya: Client, alice: User) -> None:
        for number in range(120):
            ledger.record(alice, Action.LAUNCHED, what=f"run {number:03}")
        first = html(as_maya.get("/people/log/?who=alice"))
        ledger.record(alice, Action.LAUNCHED, what="a newer one")
        second = html(as_maya.get(f"/people/log/{older(first)}"))
        assert "run 119" in first
        assert "run 070" in first
        assert "run 069" in second
        assert "run 070" not in second
        third = html(as_maya.get("/people/log/" + older(second)))
        assert "run 000" in third
        assert 'rel="next"' not in third

    def test_it_takes_a_fixed_number_of_queries(
        self, as_maya: Client, alice: User, django_assert_max_num_queries: Any
    ) -> None:
        for _ in range(60):
            ledger.record(alice, Action.LAUNCHED, alice)
        with django_assert_max_num_queries(5):
            as_maya.get("/people/log/")

    def test_the_file_has_what_the_filters_leave_and_no_formulas(self, as_maya: Client, alice: User) -> None:
        ledger.record(alice, Action.LAUNCHED, what="=1+1", words="plain")
        answer = as_maya.get("/people/log.csv?who=alice")
        rows = list(csv.reader(io.StringIO(b"".join(answer).decode())))
        assert rows[0] == ["when", "who", "did", "what", "words", "through", "address"]
        assert rows[1][1:] == ["alice", "launched a run", "'=1+1", "plain", "command line", ""]
        assert len(rows) == 2


def test_the_command_line_is_told_apart(alice: User, capsys: Any) -> None:
    call_command("sign_in_link", "alice")
    path = capsys.readouterr().out.strip()
    Client().post(path)
    assert (last(Action.SIGNED_IN).name, last(Action.SIGNED_IN).through) == ("alice", Through.PAGE)
