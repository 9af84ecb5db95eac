"""Charts as coordinates and dicts: where things lie, and that nothing is drawn that is not known."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.board import Board, board
from runs.charts.best import best_chart, geomean_line
from runs.charts.bound_line import bound_line
from runs.charts.histogram import histogram
from runs.charts.spark import spark
from runs.charts.strip import place, strip
from runs.charts.template import whole
from runs.views.context import candidate_address
from tests.web import gallery


def test_the_sol_lines_of_all_strips_are_one() -> None:
    strips = [strip(sol_s, best_s, 0.01) for sol_s, best_s in ((0.001, 0.002), (0.005, None), (0.0001, 0.0001))]
    assert {drawn["sol"] for drawn in strips if drawn} == {place(1, 168)}


def test_a_doubling_is_as_wide_everywhere_on_a_strip() -> None:
    assert place(2, 168) - place(1, 168) == pytest.approx(place(64, 168) - place(32, 168), abs=0.11)


def test_a_strip_without_a_kernel_has_no_dot() -> None:
    drawn = strip(0.001, None, 0.004)
    assert drawn is not None
    assert "best" not in drawn
    assert drawn["label"].startswith("no passing kernel")


def test_beyond_the_axis_is_clamped_and_marked() -> None:
    drawn = strip(0.001, 0.002, 1.0)
    assert drawn is not None
    assert drawn["eager"] == place(64, 168)
    assert drawn["eager_over"]


def test_there_is_no_strip_without_a_bound() -> None:
    assert strip(None, 0.002, 0.004) is None
    assert spark([], 12, None) is None


@pytest.mark.parametrize(("most", "step"), [(1, 1), (6, 1), (7, None), (1000, None)])
def test_between_two_whole_numbers_there_is_no_tick(most: int, step: int | None) -> None:
    axis = whole(most)
    assert axis["range"] == [0, most]
    assert axis.get("dtick") == step
    assert ("nticks" in axis) == (step is None)


def test_a_sparkline_steps_down_and_says_where_it_ends() -> None:
    drawn = spark([4.0, 2.0, 2.0], 12, 8.0)
    assert drawn is not None
    assert drawn["path"].count("V") == 3
    assert "after 3 attempts: 2.00× of SOL" in drawn["label"]


def test_bound_line_labels_do_not_overlap() -> None:
    for width in (358, 748):
        drawn = bound_line(0.00082, 0.00096, 0.00111, 0.0013, 0.25, width)
        assert drawn is not None
        rows: dict[int, list[tuple[float, float]]] = {}
        for mark in drawn["marks"].values():
            room = 6.0 * len(mark["text"])
            left = {"start": mark["at"], "middle": mark["at"] - room / 2, "end": mark["at"] - room}[mark["anchor"]]
            rows.setdefault(mark["y"], []).append((left, left + room))
        for taken in rows.values():
            taken.sort()
            assert all(a[1] <= b[0] for a, b in pairwise(taken))


def test_a_bound_line_takes_two_known_times() -> None:
    assert bound_line(None, 0.001, None, None, 0.25) is None
    drawn = bound_line(0.0008, 0.001, None, None, 0.25)
    assert drawn is not None
    assert "this_kernel" not in drawn["marks"]


def test_a_histogram_holds_every_sample() -> None:
    samples = [0.001 + 0.00001 * i for i in range(30)]
    drawn = histogram(samples, samples[15], samples[7], samples[22])
    assert drawn is not None
    assert sum(bar["count"] for bar in drawn["bars"]) == 30
    assert max(bar["y"] + bar["h"] for bar in drawn["bars"]) == pytest.approx(drawn["base"], abs=0.1)
    assert "30 timed calls" in drawn["label"]


def test_samples_that_are_all_alike_still_draw() -> None:
    assert histogram([0.001] * 5, 0.001, 0.001, 0.001) is not None
    assert histogram([0.001], 0.001, 0.001, 0.001) is None


class TestBest:
    @pytest.fixture
    def mid(self, alice: User) -> Board:
        return board(gallery.mid_flight(alice))

    def test_sol_and_eager_are_drawn(self, mid: Board) -> None:
        layout = best_chart(mid, candidate_address)["layout"]
        assert [
            s for s in layout["shapes"] if s["type"] == "line" and s["y0"] == 1.0 and s["line"]["color"] == "--sol"
        ]
        assert any(note["text"].startswith("eager ") for note in layout["annotations"])

    def test_sol_is_drawn_even_before_anything_was_measured(self, alice: User) -> None:
        seen = board(gallery.queued_without_worker(alice))
        layout = best_chart(seen, candidate_address)["layout"]
        assert any(note["text"] == "SOL 1×" for note in layout["annotations"])
        assert not any(note["text"].startswith(("eager", "geomean")) for note in layout["annotations"])

    def test_every_open_point_leads_to_its_candidate(self, mid: Board, as_alice: Client) -> None:
        data = best_chart(mid, candidate_address)["data"]
        addresses = [point[0] for trace in data for point in trace.get("customdata", []) if point[0]]
        assert len(addresses) == 6
        assert all(as_alice.get(address).status_code == 200 for address in addresses)

    def test_one_problem_shows_its_attempts(self, mid: Board) -> None:
        row = next(row for row in mid.rows if row.trajectory.problem.slug == "own/2")
        data = best_chart(mid, candidate_address, row)["data"]
        points = sum(len(trace.get("customdata", [])) for trace in data)
        assert points == sum(step.time_s is not None for step in row.steps)

    def test_the_geomean_ends_at_the_page_s_figure(self, alice: User) -> None:
        seen = board(gallery.huge(alice, 5, 6))
        assert geomean_line(seen.rows)[-1] == pytest.approx(seen.gap)

    def test_it_is_json_without_nan_and_names_tokens_for_colours(self, mid: Board) -> None:
        text = json.dumps(best_chart(mid, candidate_address), allow_nan=False)
        assert '"--ink"' in text
        assert "#" not in text.replace("own/", "").replace("best #", "")


def test_the_csv_has_a_line_a_problem_and_attempt(as_alice: Client, alice: User) -> None:
    run = gallery.near_sol(alice)
    response = as_alice.get(f"/runs/{run.pk}/chart.csv")
    lines = response.content.decode().splitlines()
    assert lines[0] == "problem,name,attempt,best_over_sol,sol_s,eager_s"
    assert len(lines) == 1 + 13
    assert "attachment" in response.headers["Content-Disposition"]


def test_the_numbers_come_as_a_table(as_alice: Client, alice: User) -> None:
    source = as_alice.get(f"/runs/{gallery.near_sol(alice).pk}/numbers/").content.decode()
    assert source.count("<td") == 13
