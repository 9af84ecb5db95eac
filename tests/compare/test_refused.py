"""What cannot be compared is said in words, with everything that was chosen still there."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.compare import scenes
from tests.web.reading import html, links, text_of


def test_nothing_chosen_says_how_to_choose(as_alice: Client) -> None:
    response = as_alice.get("/compare/")
    assert response.status_code == 200
    assert "Nothing is chosen yet" in text_of(response)
    assert "/runs/" in links(html(response))


def test_too_few_keeps_the_one(as_alice: Client, alice: User) -> None:
    one = scenes.three_candidates(alice)[0]
    response = as_alice.get(f"/compare/?c={one.pk}")
    assert response.status_code == 400
    assert "Only one candidate is chosen; 2 to 6" in text_of(response)
    assert f'value="{one.pk}" data-label="own/1 Gemm #1 of {one.trajectory.run}" checked' in html(response)


def test_too_many_keeps_all_of_them(as_alice: Client, alice: User) -> None:
    runs = [scenes.run(alice, f"Run {at}") for at in range(8)]
    response = as_alice.get(scenes.address("r", runs))
    assert response.status_code == 400
    assert "8 runs are chosen; at most 6 fit beside each other, so take 2 away" in text_of(response)
    assert html(response).count('type="checkbox" name="r"') == 8


@pytest.mark.parametrize(
    "path", ["/compare/", "/compare/charts.json", "/compare/calls.csv", "/compare/calls/numbers/"]
)
def test_what_is_not_there_is_named_and_the_rest_kept(as_alice: Client, alice: User, path: str) -> None:
    found = scenes.three_candidates(alice)
    response = as_alice.get(f"{path}?c={found[0].pk}&c=987654&c={found[1].pk}")
    assert response.status_code == 404
    assert "There is no candidate with the number 987654" in text_of(response)
    assert html(response).count('type="checkbox" name="c"') == 2


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("c=1&c=<b>", "names no candidate"),
        ("r=1&r=two", "'two' names no run"),
        ("c=1&c=2&r=3", "candidates and runs are chosen at once"),
        ("c=1&c=2&base=7", "is not among the chosen candidates"),
    ],
)
def test_a_wrong_address_is_answered_with_400_and_words(as_alice: Client, query: str, said: str) -> None:
    response = as_alice.get(f"/compare/?{query}")
    assert response.status_code == 400
    assert said.lower() in text_of(response).lower()
    assert "<b>" not in html(response).replace("<b>All", "")


def test_strangers_are_sent_to_sign_in(outsider: Client) -> None:
    for address in ("/compare/", "/compare/charts.json", "/compare/calls.csv", "/compare/calls/numbers/"):
        assert outsider.get(address).status_code == 302


def test_every_signed_in_person_may_compare(as_bob: Client, alice: User) -> None:
    assert as_bob.get(scenes.address("c", scenes.three_candidates(alice))).status_code == 200


def test_lists_have_a_box_a_row_and_a_button(as_alice: Client, alice: User) -> None:
    one = scenes.three_candidates(alice)[0]
    run = one.trajectory.run
    runs = html(as_alice.get("/runs/"))
    assert f'name="r" value="{run.pk}"' in runs
    assert 'action="/compare/"' in runs
    attempts = html(as_alice.get(f"/runs/{run.pk}/attempts/"))
    assert f'name="c" value="{one.pk}"' in attempts
    assert "Choose two to six attempts" in attempts
