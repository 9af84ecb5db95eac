"""Candidates side by side: facts, differences in words, what cannot be compared, texts, profiles, charts and files."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.harness.evaluation import Outcome
from kernels.models import Kernel
from runs.models import Attempt, Run
from runs.profiles import store as store_profile
from sol.models import Case
from tests.compare import scenes
from tests.profiling.tables import COPY
from tests.web import gallery, rows
from tests.web.reading import html, links, part, text_of, words
from tests.web.test_profile import measured


def line_of(source: str, name: str) -> str:
    """One fact's row in words."""
    found = re.search(rf'<tr[^>]*><th scope="row">{re.escape(name)}(?:<span.*?)?</th>.*?</tr>', source, re.S)
    assert found is not None, name
    return words(found[0])


class TestFacts:
    def test_times_have_their_difference_from_the_baseline_with_its_direction(
        self, as_alice: Client, alice: User
    ) -> None:
        source = html(as_alice.get(scenes.address("c", scenes.three_candidates(alice))))
        assert "2.00× faster" in line_of(source, "Median")
        assert "2.00× closer to SOL" in line_of(source, "Gap to SOL")
        assert "20 % 40 % +20.0 points, closer to SOL" in line_of(source, "SOL fraction")
        assert "2.00× 4.00× 2.00× faster" in line_of(source, "Over torch eager")

    def test_another_baseline_turns_them_round_and_stands_first(self, as_alice: Client, alice: User) -> None:
        found = scenes.three_candidates(alice)
        source = html(as_alice.get(scenes.address("c", found, f"&base={found[1].pk}")))
        assert "4.00× 2.00× 2.00× slower" in line_of(source, "Over torch eager")
        assert re.search(r"A</b> <a[^>]*>own/1 #2</a>", source)

    def test_a_time_that_is_held_has_no_speedup_and_says_why(self, as_alice: Client, alice: User) -> None:
        source = html(as_alice.get(scenes.address("c", scenes.three_candidates(alice))))
        assert "does not count: below the floor" in line_of(source, "Median")
        assert line_of(source, "Over torch eager").endswith("under review, not counted ")
        assert "no: suspect" in line_of(source, "Its time counts")

    def test_only_what_differs_stands_there_until_all_is_asked_for(self, as_alice: Client, alice: User) -> None:
        found = scenes.three_candidates(alice)
        plain = html(as_alice.get(scenes.address("c", found)))
        assert 'scope="row">Precision policy' not in plain
        assert "facts equal and left out" in words(plain)
        whole = html(as_alice.get(scenes.address("c", found, "&all=1")))
        assert "strict strict strict" in line_of(whole, "Precision policy")
        assert scenes.address("c", found).removeprefix("/compare/") in links(whole)

    def test_knobs_are_read_from_the_programs(self, as_alice: Client, alice: User) -> None:
        source = html(as_alice.get(scenes.address("c", scenes.three_candidates(alice))))
        assert "96, 256, 96 128, 512, 128 96, 256, 96" in line_of(source, "y: .tile")

    def test_what_failed_beside_what_passed_says_why_it_has_no_time(self, as_alice: Client, alice: User) -> None:
        of = scenes.run(alice, "Failing")
        on = scenes.worked(of, 1, [2.0])
        for number, (outcome, detail) in enumerate(gallery.FAILURES, 2):
            rows.attempt(on, number, outcome, detail=detail)
        source = html(as_alice.get(scenes.address("c", list(on.attempts.all()))))
        assert "not measured: build error" in line_of(source, "Median")
        assert "passed incorrect" in line_of(source, "Outcome")
        assert "fails: 0.31 of" in line_of(source, "Check: relative error, worst of 3 rounds")

    def test_a_verdict_stands_there_and_leads_to_its_case(self, as_alice: Client, alice: User) -> None:
        found = scenes.three_candidates(alice)
        case = Case.objects.create(
            kernel=found[1].kernel, problem=found[1].trajectory.problem, verdict="reward_hack", severity="severe",
            rank=3, trick="cached_result", confidence=0.9, flags=2,
        )  # fmt: skip
        source = html(as_alice.get(scenes.address("c", found)))
        assert "none reward hack: 2 severe flags none" in line_of(source, "Flags")
        assert f"/triage/{case.pk}/" in links(source)


class TestApart:
    def test_another_device_is_said_once_and_in_every_cell_it_touches(self, as_alice: Client, alice: User) -> None:
        source = html(as_alice.get(scenes.address("c", scenes.on_cards(alice), "&all=1")))
        assert "The devices differ (NVIDIA H100; NVIDIA A100)" in words(source)
        for name in ("Median", "Over torch eager", "Over torch eager, TF32", "Gap to SOL"):
            assert "not comparable: another device" in line_of(source, name), name
        assert "168" in line_of(source, "Registers a thread")
        assert "not comparable" not in line_of(source, "Registers a thread")
        assert "0 B" in line_of(source, "Spills")

    @pytest.mark.parametrize(("field", "value", "said"), [("policy", "tf32", "policies"), ("size", "gpu", "sizes")])
    def test_another_policy_or_size(self, as_alice: Client, alice: User, field: str, value: str, said: str) -> None:
        found = scenes.three_candidates(alice)
        on = found[2].trajectory
        target: Any = on.run if field == "policy" else on
        setattr(target, field, value)
        target.save()
        assert f"The {said} differ" in text_of(as_alice.get(scenes.address("c", found)))

    def test_another_place_under_the_same_device_s_name(self, as_alice: Client, alice: User) -> None:
        found = scenes.three_candidates(alice)
        assert "places" not in text_of(as_alice.get(scenes.address("c", found)))
        scenes.brought(found[2].trajectory.run)
        source = html(as_alice.get(scenes.address("c", found)))
        assert "The places of measurement differ (here; lab-3): machines of one name may differ" in words(source)
        assert "not comparable" not in line_of(source, "Median").split("ms")[-1]

    def test_places_need_no_word_where_the_devices_differ_anyway(self, as_alice: Client, alice: User) -> None:
        there, here = scenes.on_cards(alice)
        scenes.brought(there.trajectory.run)
        text = text_of(as_alice.get(scenes.address("c", [there, here])))
        assert "The devices differ" in text
        assert "places of measurement" not in text

    def test_another_problem(self, as_alice: Client, alice: User) -> None:
        one = scenes.run(alice, "Two problems")
        found = [scenes.worked(one, number, [2.0]).attempts.get() for number in (1, 2)]
        source = html(as_alice.get(scenes.address("c", found)))
        assert "The problems differ (own/1; own/2)" in words(source)
        assert "not comparable: another problem" in line_of(source, "Median")


class TestTexts:
    def test_sources_stand_in_two_columns_with_their_own_numbers(self, as_alice: Client, alice: User) -> None:
        source = html(as_alice.get(scenes.address("c", scenes.three_candidates(alice))))
        shown = part(source, "difference", "section")
        assert "1 line gone, 1 new, from A to B" in words(shown)
        assert shown.count('class="l gone"') == 1
        assert shown.count('class="l new right"') == 1
        assert shown.count('class="l same right"') == shown.count('class="l same"') == 6

    def test_any_pair_and_its_generated_code_can_be_chosen(self, as_alice: Client, alice: User) -> None:
        found = scenes.three_candidates(alice)
        more = f"&left={found[1].pk}&right={found[2].pk}&code=y"
        shown = part(html(as_alice.get(scenes.address("c", found, more))), "difference", "section")
        assert "from B to C" in words(shown)
        assert "kTileM" in shown
        same = f"&left={found[0].pk}&right={found[0].pk}"
        again = part(html(as_alice.get(scenes.address("c", found, same))), "difference", "section")
        assert "the texts are the same" in again

    def test_texts_of_two_languages_are_not_compared_line_by_line(self, as_alice: Client, alice: User) -> None:
        found = scenes.three_candidates(alice)
        found[1].kernel = Kernel.objects.of_source("py", "import torch\n")
        found[1].save()
        source = html(as_alice.get(scenes.address("c", found)))
        assert "no line matches" in words(part(source, "difference", "section"))
        assert "has no knobs" in line_of(source, "y: .tile")

    def test_a_long_difference_comes_in_part_and_whole_on_demand(self, as_alice: Client, alice: User) -> None:
        found = scenes.three_candidates(alice)
        for at, one in enumerate(found[:2]):
            one.kernel = Kernel.objects.of_source("cpp", "\n".join(f"int x{at}_{n};" for n in range(500)))
            one.save()
        address = scenes.address("c", found)
        cut = html(as_alice.get(address))
        assert "Show all 1000 rows" in cut
        assert cut.count('class="l gone"') + cut.count('class="l new right"') == 600
        whole = html(as_alice.get(f"{address}&whole=1"))
        assert whole.count('class="l gone"') + whole.count('class="l new right"') == 1000

    def test_what_outsiders_write_is_text(self, as_alice: Client, alice: User) -> None:
        found = list(gallery.hostile(alice).trajectories.get().attempts.all())
        source = html(as_alice.get(scenes.address("c", found, "&all=1")))
        assert "<script>alert" not in source
        assert "<img src=x" not in source
        table = as_alice.get(scenes.address("c", found).replace("/?", "/bounds/numbers/?"))
        assert "<img src=x" not in html(table)


class TestProfiles:
    def test_counters_of_both_stand_side_by_side(self, as_alice: Client, alice: User) -> None:
        source = html(as_alice.get(scenes.address("c", scenes.on_cards(alice))))
        shown = part(source, "counters", "section")
        assert "2 1" in line_of(shown, "Launches")
        assert "points, lower" in line_of(shown, "Compute (SM)")

    def test_what_was_profiled_elsewhere_is_not_taken_for_what_was_profiled_here(
        self, as_alice: Client, alice: User
    ) -> None:
        there, here = scenes.on_cards(alice)
        scenes.brought(there.trajectory.run)
        here.kernel = there.kernel
        here.save()
        shown = part(html(as_alice.get(scenes.address("c", [there, here], "&all=1"))), "counters", "section")
        assert "B not profiled yet" in words(shown)
        store_profile(here, measured(COPY), "fixed", "")
        shown = part(html(as_alice.get(scenes.address("c", [there, here], "&all=1"))), "counters", "section")
        assert "2 1" in line_of(shown, "Launches")

    def test_without_two_profiles_each_says_why(self, as_alice: Client, alice: User) -> None:
        source = html(as_alice.get(scenes.address("c", scenes.three_candidates(alice))))
        assert words(part(source, "counters", "section")).count("a CPU has no profile") == 3


class TestCharts:
    def test_calls_and_bounds_of_all_are_on_one_axis(self, as_alice: Client, alice: User) -> None:
        found = scenes.three_candidates(alice)
        figures = json.loads(as_alice.get(scenes.address("c", found).replace("/?", "/charts.json?")).content)
        assert set(figures) == {"bounds", "calls"}
        calls = figures["calls"]["data"][0]
        assert sorted(set(calls["y"])) == [0, 1, 2]
        assert len(calls["x"]) == 90
        ends = figures["bounds"]["layout"]["xaxis"]["range"]
        points = [x for trace in figures["bounds"]["data"] for x in trace["x"] if x]
        assert 10 ** ends[0] < min(points) < max(points) < 10 ** ends[1]
        diamonds = [t for t in figures["bounds"]["data"] if t.get("marker", {}).get("symbol") == "diamond-open"]
        assert diamonds[0]["y"] == [2]

    def test_each_has_its_table_and_file(self, as_alice: Client, alice: User) -> None:
        found = scenes.three_candidates(alice)
        query = scenes.address("c", found).partition("?")[2]
        response = as_alice.get(f"/compare/calls.csv?{query}")
        assert response.headers["Content-Disposition"] == 'attachment; filename="compare-calls.csv"'
        read = list(csv.DictReader(io.StringIO(response.content.decode())))
        assert len(read) == 90
        assert float(read[0]["median_s"]) == found[0].time_s
        bounds = list(csv.DictReader(io.StringIO(as_alice.get(f"/compare/bounds.csv?{query}").content.decode())))
        assert [row["counts"] for row in bounds] == ["yes", "yes", "floor"]
        assert bounds[2]["gap"] == ""
        assert "<td" in html(as_alice.get(f"/compare/bounds/numbers/?{query}"))

    def test_an_unknown_chart_is_not_found(self, as_alice: Client, alice: User) -> None:
        query = scenes.address("c", scenes.three_candidates(alice)).partition("?")[2]
        for address in (f"/compare/none.csv?{query}", f"/compare/none/numbers/?{query}", "/compare/charts.json"):
            assert as_alice.get(address).status_code == 404, address

    def test_nothing_measured_still_has_frames(self, as_alice: Client, alice: User) -> None:
        on = gallery.none_passed(alice).trajectories.get()
        found = list(on.attempts.all())
        assert as_alice.get(scenes.address("c", found)).status_code == 200
        figures = json.loads(as_alice.get(scenes.address("c", found).replace("/?", "/charts.json?")).content)
        assert figures["calls"]["data"] == []


def test_queries_do_not_grow_with_what_is_compared(
    as_alice: Client, alice: User, django_assert_num_queries: Any
) -> None:
    run = gallery.huge(alice, 3, 4)
    passed = list(Attempt.objects.filter(trajectory__run=run, outcome=Outcome.PASSED)[:6])
    for count in (2, 6):
        with django_assert_num_queries(5):
            as_alice.get(scenes.address("c", passed[:count]))
    assert Run.objects.count() == 1


def test_the_candidate_s_page_compares_it_with_its_parent_and_with_the_best(as_alice: Client, alice: User) -> None:
    of = scenes.run(alice, "Chain")
    on = scenes.worked(of, 1, [4.0, 2.0, 3.0])
    first, second, third = on.attempts.order_by("number")
    found = links(html(as_alice.get(f"/runs/{of.pk}/own/1/3/")))
    assert f"/compare/?c={second.pk}&c={third.pk}" in found
    assert f"/compare/?c={first.pk}&c={third.pk}" in found
    top = links(html(as_alice.get(f"/runs/{of.pk}/own/1/1/")))
    assert not [address for address in top if address.startswith("/compare/")]
