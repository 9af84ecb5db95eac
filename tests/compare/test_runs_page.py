"""Runs side by side: the page, its charts and files, its pages of problems, and its queries."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.bench.gap_rows import big_run
from tests.compare import scenes
from tests.compare.test_candidates_page import line_of
from tests.web import gallery
from tests.web.reading import html, links, part, text_of, words


def test_figures_and_their_differences_stand_beside_each_other(as_alice: Client, alice: User) -> None:
    source = html(as_alice.get(scenes.address("r", list(scenes.two_runs(alice)))))
    assert "3 common problems; 1 not in all of them and left out" in words(source)
    assert "2.00× 2.88× +44.2 %, faster" in line_of(source, "Geomean speedup")
    assert "66.7 % 100 % +33.3 points, more" in line_of(source, "Fast_1")
    assert "+0.528 more won" in line_of(source, "Signed area")
    assert "2 3 +1, more" in line_of(source, "With a kernel that counts")
    assert "tree search flat" in line_of(source, "Controller")
    assert 'scope="row">Tolerance' not in source


def test_the_attempts_that_all_are_seen_at_can_be_chosen(as_alice: Client, alice: User) -> None:
    runs = list(scenes.two_runs(alice))
    source = html(as_alice.get(scenes.address("r", runs, "&n=1")))
    assert "33.3 % 66.7 %" in line_of(source, "Attempt-Fast_1")
    assert "share at 1.00× within 1 attempt " in words(source)


def test_each_problem_names_its_fastest_run_and_leads_to_its_candidates(as_alice: Client, alice: User) -> None:
    before, after = scenes.two_runs(alice)
    shown = part(html(as_alice.get(scenes.address("r", [before, after]))), "problems", "section")
    assert f"/runs/{after.pk}/own/1/1/" in links(shown)
    assert "Fastest on: A 0 problems, B 2 problems" in words(shown)
    assert "even: within 2 %" in shown
    assert "no passing kernel" in shown


def test_many_problems_come_in_pages_of_fifty(as_alice: Client, alice: User) -> None:
    runs = [big_run(alice, 60, 3, seed) for seed in (1, 2)]
    first = part(html(as_alice.get(scenes.address("r", runs))), "problems", "section")
    assert first.count('<th scope="row"') == 50
    second = part(html(as_alice.get(scenes.address("r", runs, "&page=2"))), "problems", "section")
    assert second.count('<th scope="row"') == 10


def test_charts_draw_every_run_with_its_letter(as_alice: Client, alice: User) -> None:
    runs = list(scenes.two_runs(alice))
    query = scenes.address("r", runs).partition("?")[2]
    figures = json.loads(as_alice.get(f"/compare/charts.json?{query}").content)
    assert set(figures) == {"fast-p", "best", "attempt-fast-p"}
    for key, figure in figures.items():
        assert len(figure["data"]) == 2, key
        assert {"<b>A</b>", "<b>B</b>"} <= {note["text"] for note in figure["layout"]["annotations"]}, key
        dashes = {trace["line"]["dash"] for trace in figure["data"]}
        assert len(dashes) == 2, key
    reached = figures["attempt-fast-p"]["data"]
    assert reached[0]["y"] == [pytest.approx(x / 3) for x in (0, 1, 2, 2, 2)]
    assert reached[1]["y"] == [pytest.approx(x / 3) for x in (0, 2, 2, 3, 3)]


def test_files_hold_the_figures_of_every_run(as_alice: Client, alice: User) -> None:
    before, after = scenes.two_runs(alice)
    query = scenes.address("r", [before, after]).partition("?")[2]
    read = csv.DictReader(io.StringIO(as_alice.get(f"/compare/fast-p.csv?{query}").content.decode()))
    at = {float(row["r"]): row for row in read}
    assert float(at[1.5][f"r{before.pk}_fast_p"]) == pytest.approx(2 / 3)
    assert float(at[1.5][f"r{after.pk}_fast_p"]) == pytest.approx(1.0)
    best = list(csv.DictReader(io.StringIO(as_alice.get(f"/compare/best.csv?{query}").content.decode())))
    assert float(best[0][f"r{before.pk}_best_over_sol"]) == pytest.approx(10.0)
    assert float(best[-1][f"r{before.pk}_best_over_sol"]) == pytest.approx(5.0)
    assert "<td" in html(as_alice.get(f"/compare/attempt-fast-p/numbers/?{query}"))


def test_awkward_runs_stand_beside_each_other(as_alice: Client, alice: User) -> None:
    runs = [
        gallery.queued_without_worker(alice), gallery.mid_flight(alice), gallery.all_failed(alice),
        gallery.none_passed(alice), gallery.cancelled(alice), gallery.hostile(alice),
    ]  # fmt: skip
    response = as_alice.get(scenes.address("r", runs, "&all=1"))
    assert response.status_code == 200
    assert "no problem in common" in text_of(response)
    assert "<script>alert" not in html(response)
    query = scenes.address("r", runs).partition("?")[2]
    assert as_alice.get(f"/compare/charts.json?{query}").status_code == 200
    pair = as_alice.get(scenes.address("r", [runs[1], runs[3]]))
    assert "Under way: A" in text_of(pair)


def test_runs_of_several_places_say_so(as_alice: Client, alice: User) -> None:
    runs = [scenes.run(alice, f"Run {number}") for number in range(4)]
    for one in runs:
        scenes.worked(one, 1, [2.0])
    for one, place in zip(runs[1:], ("lab-3", "", ""), strict=True):
        scenes.brought(one, place)
    assert "places" not in text_of(as_alice.get(scenes.address("r", [runs[0], scenes.run(alice, "Another")])))
    said = "The places of measurement differ (here; lab-3; r-12 elsewhere)"
    assert said in text_of(as_alice.get(scenes.address("r", runs)))
    against = text_of(as_alice.get(f"/runs/{runs[0].pk}/gap/?with={runs[1].pk}"))
    assert "place of measurement lab-3 and here" in against


@pytest.mark.parametrize("count", [2, 6])
def test_queries_grow_by_two_a_run_and_not_with_its_size(
    as_alice: Client, alice: User, count: int, django_assert_num_queries: Any
) -> None:
    for size in (2, 12):
        runs = [big_run(alice, size, 4, seed) for seed in range(count)]
        with django_assert_num_queries(7 + 2 * count):
            as_alice.get(scenes.address("r", runs))
