"""The gap page of a run in each of its states: its figures, its charts' JSON, tables and files, two runs at once."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.harness.evaluation import Outcome
from runs.gap_charts import BOTH, CHARTS
from runs.models import Run
from tests.bench.gap_rows import big_run
from tests.web import gallery
from tests.web.reading import html, links, text_of


def below_floor(owner: User) -> Run:
    """Two problems: one with an honest best and an attempt below the floor, one with that alone."""
    one = gallery.run(owner, "Two below the floor")
    first, second = (gallery.trajectory(one, on) for on in gallery.problems(2))
    sol_s = first.sol_s or 0.0
    gallery.attempt(first, 1, Outcome.PASSED, 2 * sol_s, eager_s=8 * sol_s)
    gallery.attempt(first, 2, Outcome.PASSED, 0.3 * sol_s, eager_s=8 * sol_s)
    gallery.attempt(second, 1, Outcome.PASSED, 0.3 * (second.sol_s or 0.0), eager_s=8 * (second.sol_s or 0.0))
    return one


def figures_of(client: Client, run: Run, query: str = "") -> dict[str, Any]:
    response = client.get(f"/runs/{run.pk}/gap/charts.json{query}")
    assert response.status_code == 200
    found: dict[str, Any] = json.loads(response.content)
    return found


def file_of(client: Client, run: Run, key: str, query: str = "") -> list[dict[str, str]]:
    response = client.get(f"/runs/{run.pk}/gap/{key}.csv{query}")
    assert response.headers["Content-Disposition"] == f'attachment; filename="{run}-{key}.csv"'
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def addresses(figure: dict[str, Any]) -> list[str]:
    return [point[0] for trace in figure["data"] for point in trace.get("customdata") or [] if point[0]]


class TestStates:
    def test_no_attempt_yet(self, as_alice: Client, alice: User) -> None:
        run = gallery.queued_without_worker(alice)
        text = text_of(as_alice.get(f"/runs/{run.pk}/gap/"))
        assert "No attempt has ended yet" in text
        assert "No problem is bounded yet" in text
        assert "3 problems not bounded and not drawn" in text
        assert "eager not measured yet" in text
        assert all(not addresses(figure) for figure in figures_of(as_alice, run).values())

    def test_one_problem(self, as_alice: Client, alice: User) -> None:
        run = gallery.near_sol(alice)
        text = text_of(as_alice.get(f"/runs/{run.pk}/gap/"))
        assert "Near SOL, within 25 % 1 of 1" in text
        assert "Fast_p(1.00×) = 100 %, 1 of 1" in text
        assert "dotted: the floor" in text

    def test_mid_flight(self, as_alice: Client, alice: User) -> None:
        run = gallery.mid_flight(alice)
        source = html(as_alice.get(f"/runs/{run.pk}/gap/"))
        assert "1 problem not bounded and not drawn" in source
        opened = {address for figure in figures_of(as_alice, run).values() for address in addresses(figure)}
        assert all(as_alice.get(address).status_code == 200 for address in sorted(opened)[:3])

    def test_all_failed(self, as_alice: Client, alice: User) -> None:
        text = text_of(as_alice.get(f"/runs/{gallery.all_failed(alice).pk}/gap/"))
        assert "ended before any attempt was measured" in text

    def test_none_passed(self, as_alice: Client, alice: User) -> None:
        run = gallery.none_passed(alice)
        text = text_of(as_alice.get(f"/runs/{run.pk}/gap/"))
        assert "No attempt that counts has a time: 5 attempts ended without one" in text
        assert "0 attempts drawn; 5 not measured and not drawn" in text

    def test_names_are_text(self, as_alice: Client, alice: User) -> None:
        run = gallery.hostile(alice)
        source = html(as_alice.get(f"/runs/{run.pk}/gap/"))
        table = html(as_alice.get(f"/runs/{run.pk}/gap/gap/numbers/"))
        assert "<img src=x" not in source + table
        assert "&lt;img" in table


class TestBelowTheFloor:
    def test_it_is_said_with_its_count(self, as_alice: Client, alice: User) -> None:
        text = text_of(as_alice.get(f"/runs/{below_floor(alice).pk}/gap/"))
        assert "Not counted 2 2 below the floor: in no best, mean or Fast_p" in text
        assert "2 below the floor : drawn as diamonds" in text
        assert "Fast_p(1.00×) = 50 %, 1 of 2" in text

    def test_it_is_a_diamond_of_its_own_and_part_of_no_line(self, as_alice: Client, alice: User) -> None:
        figures = figures_of(as_alice, below_floor(alice))
        for key in ("gap", "roofline", "speedup", "best"):
            diamonds = [t for t in figures[key]["data"] if t.get("marker", {}).get("symbol") == "diamond-open"]
            assert len(diamonds[0]["x"]) == 2, key
        lines = [t for t in figures["best"]["data"] if t["mode"] == "lines"]
        assert min(y for line in lines for y in line["y"] if y) == pytest.approx(2.0)

    def test_files_hold_it_with_its_standing(self, as_alice: Client, alice: User) -> None:
        run = below_floor(alice)
        rows = file_of(as_alice, run, "gap")
        assert [(row["problem"], row["held"]) for row in rows] == [("own/2", "1"), ("own/1", "1")]
        assert rows[0]["best_s"] == rows[0]["gap"] == ""
        standings = [row["standing"] for row in file_of(as_alice, run, "roofline")]
        assert sorted(standings) == ["below the floor", "below the floor", "best"]


class TestFilesAndTables:
    def test_the_gap_file_repeats_the_page_s_times(self, as_alice: Client, alice: User) -> None:
        run = gallery.near_sol(alice)
        best = run.trajectories.get().best
        assert best is not None
        row = file_of(as_alice, run, "gap")[0]
        assert float(row["best_s"]) == best.time_s
        assert int(row["attempt"]) == best.number

    def test_every_chart_has_a_table_and_a_file(self, as_alice: Client, alice: User) -> None:
        run = gallery.mid_flight(alice)
        source = html(as_alice.get(f"/runs/{run.pk}/gap/"))
        for key in CHARTS:
            assert f"/runs/{run.pk}/gap/{key}.csv" in links(source)
            assert f'data-png="chart-{key}"' in source
            assert "<td" in html(as_alice.get(f"/runs/{run.pk}/gap/{key}/numbers/"))
            assert file_of(as_alice, run, key)

    def test_r_of_the_address_is_read(self, as_alice: Client, alice: User) -> None:
        run = gallery.near_sol(alice)
        assert "Fast_p(2.50×)" in text_of(as_alice.get(f"/runs/{run.pk}/gap/?r=2.5"))
        for nonsense in ("nan", "-1", "1e99", "<b>"):
            assert "Fast_p(1.00×)" in text_of(as_alice.get(f"/runs/{run.pk}/gap/", {"r": nonsense}))

    def test_an_unknown_chart_or_run_is_not_found(self, as_alice: Client, alice: User) -> None:
        run = gallery.near_sol(alice)
        for address in ("gap/none.csv", "gap/none/numbers/", "gap/charts.json?chart=none", "gap/before-after.csv",
                        "gap/?with=99999", "gap/?with=x"):  # fmt: skip
            assert as_alice.get(f"/runs/{run.pk}/{address}").status_code == 404, address

    def test_strangers_are_sent_to_sign_in(self, outsider: Client, alice: User) -> None:
        run = gallery.near_sol(alice)
        for address in ("gap/", "gap/charts.json", "gap/gap.csv", "gap/gap/numbers/"):
            assert outsider.get(f"/runs/{run.pk}/{address}").status_code == 302


class TestTwoRuns:
    def test_they_stand_side_by_side(self, as_alice: Client, alice: User) -> None:
        before, after = below_floor(alice), gallery.huge(alice, 3, 6)
        source = html(as_alice.get(f"/runs/{after.pk}/gap/?with={before.pk}"))
        text = text_of(as_alice.get(f"/runs/{after.pk}/gap/?with={before.pk}"))
        assert "of 2 common problems came closer to SOL" in text
        assert f"1 only in {after}" in text
        assert "Signed area" in text
        assert "Not alike" not in text
        figures = figures_of(as_alice, after, f"?with={before.pk}")
        assert set(figures) == {*CHARTS, *BOTH}
        for key in BOTH:
            assert f"/runs/{after.pk}/gap/{key}.csv?with={before.pk}" in links(source)
            assert file_of(as_alice, after, key, f"?with={before.pk}")

    def test_what_else_differs_is_said(self, as_alice: Client, alice: User) -> None:
        before, after = gallery.near_sol(alice), gallery.near_sol(alice)
        Run.objects.filter(pk=before.pk).update(policy="tf32", attempts=40)
        text = text_of(as_alice.get(f"/runs/{after.pk}/gap/?with={before.pk}"))
        assert "Not alike : policy tf32 and strict; attempts a problem 40 and 12" in text

    def test_nothing_in_common(self, as_alice: Client, alice: User) -> None:
        before, after = gallery.all_failed(alice), gallery.near_sol(alice)
        text = text_of(as_alice.get(f"/runs/{after.pk}/gap/?with={before.pk}"))
        assert "The two runs have no problem in common" in text


def test_the_run_page_leads_to_it(as_alice: Client, alice: User) -> None:
    run = gallery.near_sol(alice)
    assert f"/runs/{run.pk}/gap/" in links(html(as_alice.get(f"/runs/{run.pk}/")))


@pytest.mark.parametrize(("address", "queries"), [("", 8), ("charts.json", 7), ("gap.csv", 7)])
def test_queries_do_not_grow_with_the_run(
    as_alice: Client, alice: User, address: str, queries: int, django_assert_num_queries: Any
) -> None:
    for size in (2, 12):
        run = big_run(alice, size, 5)
        with django_assert_num_queries(queries):
            as_alice.get(f"/runs/{run.pk}/gap/{address}")
