"""Remarks on a candidate and its lines, mentions, marks of review, and what can be downloaded from its page."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs import talking
from runs.models import Attempt, Mention, Person, Remark, Reviewed
from runs.roles import Role
from tests.web import gallery
from tests.web.reading import html, words
from tests.web.rows import attempt, problem, run, trajectory


@pytest.fixture
def one(alice: User) -> Attempt:
    return attempt(trajectory(run(alice), problem(2)), 1, time_s=2e-3)


def address(of: Attempt, end: str = "") -> str:
    return f"/runs/{of.trajectory.run_id}/{of.trajectory.problem.slug}/{of.number}/{end}"


def test_a_remark_on_a_line_stands_beside_it(as_bob: Client, one: Attempt) -> None:
    answer = as_bob.post(address(one, "remark/"), {"text": "why 128?\nsee the sheet", "unit": "", "line": "4"})
    remark = Remark.objects.get()
    assert answer.headers["Location"] == f"{address(one)}#r{remark.pk}"
    page = html(as_bob.get(address(one)))
    assert re.search(r'class="l[^"]* said" id="M4"', page)
    assert "<b>bob</b>" in page
    assert '<a href="#M4">line 4</a>' in page
    assert ".acc(f32).tile(" in page.split('<ol class="talk">')[1].split("</ol>")[0]


def test_a_remark_on_generated_code_names_its_unit(as_bob: Client, one: Attempt) -> None:
    as_bob.post(address(one, "remark/"), {"text": "a wide store", "unit": "0", "line": "8"})
    page = html(as_bob.get(address(one)))
    assert 'class="l said" id="L8"' in page
    assert "?unit=0#L8" in page


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"text": "  "}, "the remark says nothing; some words would be right"),
        ({"text": "x" * 4001}, "has 4,001 characters"),
        ({"text": "here", "line": "4000"}, "is on line 4000 of the source"),
        ({"text": "here", "line": "3", "unit": "77"}, "is on line 3 of the generated code"),
        ({"text": "here", "line": "two"}, "is on line two of the source"),
        ({"text": "here", "line": "9" * 5000}, "is on line 999999999999 of the source"),
    ],
)
def test_what_is_no_remark_is_told_and_nothing_typed_is_lost(
    as_bob: Client, one: Attempt, form: dict[str, str], said: str
) -> None:
    answer = as_bob.post(address(one, "remark/"), form)
    assert answer.status_code == 422
    page = html(answer)
    assert said in words(page)
    assert form["text"].strip() in page
    assert not Remark.objects.exists()


def test_words_are_text(as_bob: Client, one: Attempt, alice: User) -> None:
    as_bob.post(address(one, "remark/"), {"text": "<script>alert(1)</script> @alice </b>"})
    page = html(as_bob.get(address(one)))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; <b>@alice</b> &lt;/b&gt;" in page


def test_who_is_named_finds_it_and_has_seen_it_then(
    as_alice: Client, as_bob: Client, one: Attempt, alice: User
) -> None:
    as_bob.post(address(one, "remark/"), {"text": "@alice and @nobody, write to x@alice.example"})
    assert [mention.user for mention in Mention.objects.all()] == [alice]
    home = html(as_alice.get(address(one)))
    assert '1<span class="sr"> new mentions</span>' in home
    page = words(html(as_alice.get("/account/mentions/")))
    assert "bob on own/2" in page
    assert talking.unseen(alice) == 0
    assert "new mentions" not in html(as_alice.get(address(one)))


def test_only_mentions_that_were_listed_are_seen(
    as_alice: Client, one: Attempt, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.views.talk.PAGE", 2)
    for number in range(3):
        talking.say(one, bob, f"{number} @alice")
    as_alice.get("/account/mentions/")
    assert [mention.remark.text for mention in Mention.objects.filter(seen__isnull=True)] == ["0 @alice"]
    assert talking.unseen(alice) == 1
    as_alice.get("/account/mentions/?page=2")
    assert talking.unseen(alice) == 0


def test_only_its_author_or_an_admin_takes_a_remark_back(
    as_alice: Client, as_bob: Client, as_maya: Client, one: Attempt
) -> None:
    as_bob.post(address(one, "remark/"), {"text": "first"})
    as_bob.post(address(one, "remark/"), {"text": "second @alice"})
    first, second = Remark.objects.all()
    assert as_alice.post(f"/remarks/{first.pk}/withdraw/").status_code == 403
    assert as_bob.post(f"/remarks/{first.pk}/withdraw/").status_code == 302
    assert as_maya.post(f"/remarks/{second.pk}/withdraw/").status_code == 302
    assert [row.text for row in Remark.objects.all()] == ["", ""]
    assert not Mention.objects.exists()
    page = words(html(as_alice.get(address(one))))
    assert page.count("taken back") == 2
    assert "nobody has said anything yet" in page


def test_a_reviewer_marks_it_and_takes_the_mark_away(as_bob: Client, bob: User, one: Attempt) -> None:
    assert as_bob.post(address(one, "reviewed/"), {"on": "1"}).status_code == 403
    assert "Mark as reviewed" not in html(as_bob.get(address(one)))
    Person.objects.update_or_create(user=bob, defaults={"role": Role.REVIEWER})
    for _ in range(2):
        assert as_bob.post(address(one, "reviewed/"), {"on": "1"}).status_code == 302
    assert Reviewed.objects.count() == 1
    assert "reviewed by bob" in words(html(as_bob.get(address(one))))
    as_bob.post(address(one, "reviewed/"), {"on": "0"})
    assert not Reviewed.objects.exists()


def test_a_get_changes_nothing_and_strangers_sign_in(as_bob: Client, client: Client, one: Attempt) -> None:
    assert as_bob.get(address(one, "remark/")).status_code == 405
    assert client.post(address(one, "remark/"), {"text": "x"}).headers["Location"].startswith("/sign-in/")
    assert not Remark.objects.exists()


def test_queries_do_not_grow_with_what_was_said(as_bob: Client, bob: User, one: Attempt) -> None:
    as_bob.get(address(one))

    def count() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert as_bob.get(address(one)).status_code == 200
        return len(seen)

    talking.say(one, bob, "one @alice")
    few = count()
    for number in range(30):
        talking.say(one, bob, f"{number} @alice", talking.Spot("", 1 + number % 5))
    assert count() <= few


def test_its_source_is_a_file(as_bob: Client, one: Attempt) -> None:
    answer = as_bob.get(address(one, "source/"))
    assert answer.content.decode() == one.kernel.source
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{one.kernel}.mu"'


def test_an_object_that_left_the_cache_is_not_found(as_bob: Client, one: Attempt) -> None:
    assert as_bob.get(address(one, f"object/mu_{one.kernel.short}_y/")).status_code == 404


def test_somebody_who_left_leaves_their_words(as_alice: Client, one: Attempt) -> None:
    gone = gallery.person("carol")
    talking.say(one, gone, "I was here")
    gone.delete()
    assert "somebody who left" in html(as_alice.get(address(one)))
