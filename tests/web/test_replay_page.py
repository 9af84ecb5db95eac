"""The replay page: what a policy keeps and saves, its chart and file, and the way to the next launch."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agent.pareto import GRID
from agent.steps import Measured
from kernels.harness.evaluation import Outcome
from runs import engine
from runs.models import Run
from runs.states import RunState
from tests.web import gallery, histories
from tests.web.reading import html, links, text_of


@pytest.fixture
def run(alice: User) -> Run:
    return histories.replayable(alice)


def test_a_policy_of_the_address_is_judged_for_all_and_for_each_problem(as_alice: Client, run: Run) -> None:
    text = text_of(as_alice.get(f"/runs/{run.pk}/replay/?epsilon=250&patience=off"))
    assert "36 attempts on 3 problems; nothing is run again" in text
    assert "Chosen policy ε 250 %, w off" in text
    # SOL is 2 ms, so this stops at the first time of 7 ms or less: the fourth attempt of each.
    assert "4 of 13" in text
    assert "12 of 36 still paid" in text
    assert "Attempts saved 66.7 %" in text


def test_without_a_policy_the_most_efficient_that_keeps_enough_is_shown(as_alice: Client, run: Run) -> None:
    text = text_of(as_alice.get(f"/runs/{run.pk}/replay/"))
    assert "Most efficient that keeps 95 %" in text
    assert "no other saves as much and keeps more" in text


@pytest.mark.parametrize("query", ["epsilon=nan&patience=x", "epsilon=-5", "patience=1.5", "epsilon=1e9"])
def test_an_address_that_names_no_policy_is_no_error(as_alice: Client, run: Run, query: str) -> None:
    assert as_alice.get(f"/runs/{run.pk}/replay/?{query}").status_code == 200
    assert as_alice.get(f"/runs/{run.pk}/replay/chart.json?{query}").status_code == 200


def test_a_policy_off_the_grid_is_judged_all_the_same(as_alice: Client, run: Run) -> None:
    text = text_of(as_alice.get(f"/runs/{run.pk}/replay/?epsilon=33&patience=7"))
    assert "Chosen policy ε 33 %, w 7" in text


def test_the_policy_goes_to_the_next_launch(as_alice: Client, run: Run) -> None:
    page = html(as_alice.get(f"/runs/{run.pk}/replay/?epsilon=250&patience=off"))
    address = f"/runs/new/?clone={run.pk}&epsilon=250&patience=off"
    assert address in links(page)
    form = html(as_alice.get(address))
    assert 'name="epsilon" inputmode="decimal" autocomplete="off" value="250"' in form
    assert 'name="patience" inputmode="numeric" autocomplete="off" value=""' in form


def test_rules_in_the_address_of_a_launch_are_checked_like_typed_ones(as_alice: Client, run: Run) -> None:
    response = as_alice.get("/runs/new/?epsilon=<script>&patience=3")
    assert response.status_code == 200
    assert "<script>&" not in html(response)
    assert 'value="&lt;script&gt;"' in html(response)


def test_tokens_are_the_cost_where_models_told_them(as_alice: Client, alice: User) -> None:
    run = histories.replayable(alice, tokens=1000)
    text = text_of(as_alice.get(f"/runs/{run.pk}/replay/?epsilon=250&patience=off"))
    assert "Tokens saved 66.7 % 12.0 k of 36.0 k still paid" in text


def test_the_chart_marks_the_front_the_named_points_and_the_chosen_one(as_alice: Client, run: Run) -> None:
    figure = as_alice.get(f"/runs/{run.pk}/replay/chart.json?epsilon=250&patience=12").json()
    points = [point for trace in figure["data"] if trace.get("customdata") for point in trace["customdata"]]
    assert len({address for address, _ in points}) == len(GRID)
    named = [trace for trace in figure["data"] if trace.get("marker", {}).get("symbol") == "square-open"]
    assert len(named[0]["x"]) == 2
    chosen = [trace for trace in figure["data"] if trace.get("marker", {}).get("size") == 11][-1]
    assert chosen["customdata"][0][0] == f"/runs/{run.pk}/replay/?epsilon=250&patience=12"
    assert json.dumps(figure, allow_nan=False)


def test_the_file_has_the_whole_grid_for_all_and_for_each(as_alice: Client, run: Run) -> None:
    response = as_alice.get(f"/runs/{run.pk}/replay/replay.csv")
    assert response["Content-Disposition"] == f'attachment; filename="{run}-replay.csv"'
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert len(rows) == len(GRID) * 4
    whole = next(
        row for row in rows if not row["epsilon_percent"] and not row["patience"] and row["problem"] == "all"
    )
    assert (whole["saving"], whole["retention"], whole["efficiency_gain"]) == ("0.0", "1.0", "1.0")
    assert {row["problem"] for row in rows} == {"all", "own/1", "own/2", "own/3"}


def test_a_run_under_way_waits_for_its_end(as_alice: Client, alice: User) -> None:
    run = gallery.mid_flight(alice)
    assert "is still under way" in text_of(as_alice.get(f"/runs/{run.pk}/replay/"))
    assert f"/runs/{run.pk}/replay/" not in links(html(as_alice.get(f"/runs/{run.pk}/")))


def test_a_run_without_an_ended_attempt_has_nothing_to_judge(as_alice: Client, alice: User) -> None:
    run = gallery.all_failed(alice)
    assert "there is nothing to judge" in text_of(as_alice.get(f"/runs/{run.pk}/replay/"))
    assert as_alice.get(f"/runs/{run.pk}/replay/chart.json").json()["data"] == []


def test_where_nothing_passed_retention_is_not_measured(as_alice: Client, alice: User) -> None:
    run = gallery.run(alice, "Nothing passed", state=RunState.DONE)
    histories.logged(run, 1, (None, None, None))
    text = text_of(as_alice.get(f"/runs/{run.pk}/replay/?epsilon=25&patience=16"))
    assert "No kernel passed in this run" in text
    assert "– nothing passed" in text
    assert as_alice.get(f"/runs/{run.pk}/replay/chart.json").json()["data"] == []


def test_a_result_that_was_flagged_later_is_no_best(as_alice: Client, run: Run) -> None:
    row = run.trajectories.order_by("pk")[0]
    before = text_of(as_alice.get(f"/runs/{run.pk}/replay/?epsilon=off&patience=off"))
    assert "2.53" in before
    engine.append(row, Measured(13, Outcome.PASSED, "", 2.3e-3 * 1.1, 12e-3, flagged=True))
    after = text_of(as_alice.get(f"/runs/{run.pk}/replay/?epsilon=off&patience=off"))
    assert "2.64" in after
    assert "2.53" not in after


def test_it_takes_a_fixed_number_of_queries(
    as_alice: Client, alice: User, django_assert_num_queries: object
) -> None:
    for problems in (1, 4):
        run = histories.replayable(alice, problems=problems)
        with django_assert_num_queries(6):  # type: ignore[operator]
            as_alice.get(f"/runs/{run.pk}/replay/")


def test_every_member_may_look_and_an_outsider_may_not(as_bob: Client, outsider: Client, run: Run) -> None:
    assert as_bob.get(f"/runs/{run.pk}/replay/").status_code == 200
    for address in ("replay/", "replay/chart.json", "replay/replay.csv"):
        assert outsider.get(f"/runs/{run.pk}/{address}").status_code == 302
    assert as_bob.get("/runs/999999/replay/").status_code == 404


def test_a_title_that_tries_to_be_markup_is_text(as_alice: Client, alice: User) -> None:
    run = histories.replayable(alice, problems=1)
    Run.objects.filter(pk=run.pk).update(title=gallery.HOSTILE)
    assert "<script>alert" not in html(as_alice.get(f"/runs/{run.pk}/replay/"))
