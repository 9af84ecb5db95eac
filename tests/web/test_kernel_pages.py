"""The leaderboard, how records fell, and the page of one kernel."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.harness.evaluation import Outcome
from kernels.models import Kernel
from kernels.source_search import MOST, matching
from runs.browser.records import told_records
from runs.charts.record import record_chart
from sol.audit.record import Severity
from tests.web import kernel_rows, rows
from tests.web.reading import html, links, text_of
from tests.web.rows import MACHINE


class TestLeaderboard:
    def test_none_yet_says_when_there_will_be(self, as_alice: Client) -> None:
        assert "Nothing was measured yet" in text_of(as_alice.get("/kernels/best/"))

    def test_the_best_honest_kernel_of_each_problem(self, as_alice: Client, alice: User, bob: User) -> None:
        first, second = kernel_rows.problems(2)
        on = rows.trajectory(rows.run(alice), first)
        kernel_rows.tried(on, 1, 3.0)
        best = kernel_rows.tried(rows.trajectory(rows.run(bob), first), 1, 1.5, eager=6.0)
        hacked = kernel_rows.tried(on, 2, 1.1)
        kernel_rows.settle(kernel_rows.case(hacked), "reward_hack")
        kernel_rows.tried(rows.trajectory(on.run, second), 1, 2.0)
        shown = html(as_alice.get("/kernels/best/"))
        assert best.kernel.short in shown
        assert hacked.kernel.short not in shown
        text = text_of(as_alice.get("/kernels/best/"))
        assert "2 of 2 problems tried" in text
        assert "1 above it" in text
        assert "1 settled as gamed or buggy and 0 under review are left out" in text

    def test_the_inflated_figure_stands_beside_the_honest_one(self, as_alice: Client, alice: User) -> None:
        on = rows.trajectory(rows.run(alice), kernel_rows.problems(1)[0])
        kernel_rows.tried(on, 1, 2.0)
        kernel_rows.case(kernel_rows.tried(on, 2, 1.0))
        text = text_of(as_alice.get("/kernels/best/"))
        assert "Geomean 2.00× torch eager" in text
        assert "0 settled as gamed or buggy and 1 under review are left out; with them it would read 4.00×" in text

    def test_without_held_times_nothing_is_left_out(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 3)
        assert "Nothing is left out." in text_of(as_alice.get("/kernels/best/"))

    def test_a_problem_whose_kernels_are_all_held_has_none(self, as_alice: Client, alice: User) -> None:
        on = rows.trajectory(rows.run(alice), kernel_rows.problems(1)[0])
        kernel_rows.case(kernel_rows.tried(on, 1, 1.0))
        text = text_of(as_alice.get("/kernels/best/"))
        assert "0 of 1 problem tried" in text
        assert "– no honest kernel yet" in text
        assert "1 left out" in text

    def test_cards_are_apart(self, as_alice: Client, alice: User) -> None:
        first, second = kernel_rows.problems(2)
        kernel_rows.tried(rows.trajectory(rows.run(alice), first), 1, 3.0)
        kernel_rows.tried(rows.trajectory(rows.run(alice), second), 1, 3.0)
        other = kernel_rows.tried(kernel_rows.on_card(alice, first, "H100 SXM"), 1, 1.2)
        assert other.kernel.short not in html(as_alice.get("/kernels/best/"))
        shown = html(as_alice.get("/kernels/best/?device=H100+SXM"))
        assert other.kernel.short in shown
        assert "1 of 1 problem tried on H100 SXM" in text_of(as_alice.get("/kernels/best/?device=H100+SXM"))

    @pytest.mark.parametrize(
        "order", ["gap", "-gap", "-speedup", "speedup", "-when", "when", "problem", "-problem"]
    )
    def test_sorted_with_none_last_both_ways(self, as_alice: Client, alice: User, order: str) -> None:
        first, second, third = kernel_rows.problems(3)
        run = rows.run(alice)
        kernel_rows.tried(rows.trajectory(run, first), 1, 1.5, days_ago=1, eager=3.0)
        kernel_rows.tried(rows.trajectory(run, second), 1, 3.0, days_ago=2, eager=9.0)
        kernel_rows.case(kernel_rows.tried(rows.trajectory(run, third), 1, 1.0, days_ago=3))
        text = text_of(as_alice.get(f"/kernels/best/?sort={order}"))
        at = [text.index(f"{one.slug} {one.name}") for one in (first, second, third)]
        if "problem" in order:
            assert (at == sorted(at)) is (order == "problem")
        else:
            assert at[2] == max(at)
            assert (at[0] < at[1]) is (order in ("gap", "speedup", "-when"))

    def test_it_takes_a_fixed_number_of_queries(
        self, as_alice: Client, alice: User, django_assert_max_num_queries: Any
    ) -> None:
        for count in (1, 6):
            run = rows.run(alice)
            for problem in kernel_rows.problems(count):
                kernel_rows.tried(rows.trajectory(run, problem), 1, 2.0)
            with django_assert_max_num_queries(14):
                as_alice.get("/kernels/best/")

    def test_its_file_has_the_honest_ones(self, as_alice: Client, alice: User) -> None:
        run = kernel_rows.several(alice, 4)
        response = as_alice.get("/kernels/best/leaderboard.csv")
        lines = b"".join(response.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert len(lines) == 2
        assert f"r-{run.pk},4,alice," in lines[1]


class TestRecord:
    def test_it_tells_each_fall_and_who_set_it(self, as_alice: Client, alice: User, bob: User) -> None:
        problem = kernel_rows.problems(1)[0]
        on, other = rows.trajectory(rows.run(alice), problem), rows.trajectory(rows.run(bob), problem)
        kernel_rows.tried(on, 1, 4.0, days_ago=5)
        kernel_rows.tried(other, 1, 5.0, days_ago=4)
        kernel_rows.tried(other, 2, 2.0, days_ago=3)
        kernel_rows.tried(on, 2, 3.0, days_ago=2)
        kernel_rows.case(kernel_rows.tried(on, 3, 1.0, days_ago=1))
        told = told_records(problem, MACHINE)
        assert [(one.owner, one.number) for one in told] == [("alice", 1), ("bob", 2)]
        assert told[1].share == pytest.approx(0.5)
        text = text_of(as_alice.get("/kernels/record/own/1/"))
        assert f"r-{other.run_id} #2" in text
        assert f"r-{on.run_id} #3" not in text
        assert "−50.0 %" in text

    def test_the_chart_has_the_same_points_and_the_sol_line(self, as_alice: Client, alice: User) -> None:
        run = kernel_rows.several(alice, 4)
        data = as_alice.get("/kernels/record/own/1/chart.json").json()
        points = [point for trace in data["data"] if "customdata" in trace for point in trace["customdata"]]
        assert len(points) == len(told_records(run.trajectories.get().problem, MACHINE)) == 4
        assert any(shape["line"].get("color") == "--sol" for shape in data["layout"]["shapes"])
        assert points[-1][0] == f"/runs/{run.pk}/own/1/4/"

    def test_without_a_time_that_counts_it_says_so(self, as_alice: Client, alice: User) -> None:
        kernel_rows.problems(1)
        assert "No kernel of own/1 has a time that counts" in text_of(as_alice.get("/kernels/record/own/1/"))
        assert as_alice.get("/kernels/record/own/1/chart.json").json()["data"] == []
        assert as_alice.get("/kernels/record/own/99/").status_code == 404

    def test_its_file(self, as_alice: Client, alice: User) -> None:
        kernel_rows.several(alice, 4)
        lines = as_alice.get("/kernels/record/own/1/record.csv").content.decode().splitlines()
        assert lines[0].startswith("at,run,attempt,kernel")
        assert len(lines) == 5

    def test_a_chart_needs_no_bound_of_every_run(self, alice: User) -> None:
        run = kernel_rows.several(alice, 2)
        told = told_records(run.trajectories.get().problem, MACHINE)
        from datetime import UTC, datetime

        assert len(record_chart(told, datetime.now(UTC))["data"]) == 3


class TestKernel:
    def test_its_text_its_attempts_and_what_was_raised(self, as_alice: Client, alice: User) -> None:
        first, second = kernel_rows.problems(2)
        text = "program one()\n  y = <b>x</b>\n  return y"
        on = rows.trajectory(rows.run(alice), first)
        attempt = kernel_rows.tried(on, 1, 1.5, text=text)
        kernel_rows.tried(rows.trajectory(rows.run(alice), second), 1, None, text=text, outcome=Outcome.CRASH)
        kernel_rows.settle(kernel_rows.case(attempt, Severity.SUSPECT), "clean")
        name = f"k-{attempt.kernel.digest[:12]}"
        shown, said = html(as_alice.get(f"/kernels/{name}/")), text_of(as_alice.get(f"/kernels/{name}/"))
        assert "<b>x</b>" not in shown
        assert 'id="L3"' in shown
        assert "tried 2 times" in said
        assert "own/1" in said
        assert "own/2" in said
        assert "crash" in said
        assert "suspect, 1 flag" in said
        assert f"/runs/{on.run_id}/own/1/1/" in links(shown)
        assert 'data-copy="src"' in shown

    def test_fewer_digits_lead_to_it(self, as_alice: Client, alice: User) -> None:
        kernel = rows.kernel(1)
        for name in (kernel.digest[:6], f"k-{kernel.digest[:8]}", kernel.digest):
            assert as_alice.get(f"/kernels/{name}/").headers["Location"] == f"/kernels/k-{kernel.digest[:12]}/"

    def test_several_that_begin_alike_are_offered(self, as_alice: Client, alice: User) -> None:
        for last in "ab":
            Kernel.objects.create(digest="123456" + last * 58, language="mu", source=f"program {last}()")
        text = text_of(as_alice.get("/kernels/k-123456/"))
        assert "2 kernels begin with k-123456" in text
        assert as_alice.get("/kernels/k-123456a/").status_code == 302

    @pytest.mark.parametrize("name", ["k-12", "nothing", "k-zzzzzz", "k-abcdef"])
    def test_a_name_of_none_is_not_found(self, as_alice: Client, name: str) -> None:
        assert as_alice.get(f"/kernels/{name}/").status_code == 404

    def test_a_long_text_is_cut_until_asked_for(self, as_alice: Client, alice: User) -> None:
        kernel = Kernel.objects.of_source("mu", "\n".join(f"# line {n}" for n in range(700)))
        address = f"/kernels/k-{kernel.digest[:12]}/"
        assert "Show all 700 lines" in text_of(as_alice.get(address))
        assert "line 699" in text_of(as_alice.get(f"{address}?whole=1"))

    def test_it_takes_a_fixed_number_of_queries(
        self, as_alice: Client, alice: User, django_assert_max_num_queries: Any
    ) -> None:
        for count in (2, 5):
            run = rows.run(alice)
            for problem in kernel_rows.problems(count):
                attempt = kernel_rows.tried(rows.trajectory(run, problem), 1, 2.0, text="program shared()")
            with django_assert_max_num_queries(12):
                as_alice.get(f"/kernels/k-{attempt.kernel.digest[:12]}/")


class TestSourceSearch:
    def test_any_part_of_a_text_whatever_its_case(self, db: None) -> None:
        one = Kernel.objects.of_source("mu", 'y = gemm(x).cluster(2, 1) # "quoted" ünder %_')
        for text in ("cluster(2, 1)", "GEMM(X)", '"quoted"', "r %_", "ünder", ') # "q'):
            assert matching(text).keys == (one.pk,), text
        for text in ("cluster(2,1)", "gemm x", "OR", "NEAR(x)", "zzz", "%%%"):
            assert matching(text).keys == (), text

    def test_it_follows_what_is_changed_and_deleted(self, db: None) -> None:
        one = Kernel.objects.of_source("mu", "first text")
        Kernel.objects.filter(pk=one.pk).update(source="second text")
        assert matching("first").keys == ()
        assert matching("second").keys == (one.pk,)
        one.delete()
        assert matching("second").keys == ()

    def test_the_newest_come_first_up_to_a_limit(self, db: None) -> None:
        made = [Kernel.objects.of_source("mu", f"common {n}").pk for n in range(5)]
        found = matching("common", 3)
        assert found.keys == tuple(made[:1:-1])
        assert found.more
        assert not matching("common", MOST).more

    def test_fewer_than_three_letters_find_nothing(self, db: None) -> None:
        Kernel.objects.of_source("mu", "ab")
        assert matching("ab").keys == ()
