"""Figures of runs against those worked out by hand."""

from __future__ import annotations

import math

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict

from runs.comparing.asked import RUNS, asked
from runs.comparing.cells import Cell, Group
from runs.comparing.runs import RunsSeen, runs_seen
from runs.comparing.spent import spent_by
from runs.models import Run
from runs.states import JobKind
from tests.compare import scenes
from tests.web import rows


def seen(user: User, *runs: Run, more: str = "") -> RunsSeen:
    query = "&".join(f"r={one.pk}" for one in runs)
    return runs_seen(user, asked(QueryDict(query + more), RUNS))


def cells(groups: list[Group], name: str) -> tuple[Cell, ...]:
    return next(line.cells for group in groups for line in group.lines if line.name == name)


class TestByHand:
    """Speedups 2, 4 and none against 4, 4 and 1.5 on three common problems; torch eager is at ten times SOL."""

    def test_geomean_and_median_hold_every_problem_and_one_without_a_kernel_at_1(self, alice: User) -> None:
        found = seen(alice, *scenes.two_runs(alice))
        before, after = (side.figures for side in found.sides)
        assert before.geomean == pytest.approx((2 * 4 * 1) ** (1 / 3))
        assert after.geomean == pytest.approx((4 * 4 * 1.5) ** (1 / 3))
        assert [before.median, after.median] == [pytest.approx(2.0), pytest.approx(4.0)]
        assert [cell.text for cell in cells(found.groups, "Geomean speedup")] == ["2.00×", "2.88×"]

    def test_fast_p_counts_a_problem_without_a_kernel_as_not_reached(self, alice: User) -> None:
        before, after = (side.figures for side in seen(alice, *scenes.two_runs(alice)).sides)
        assert [before.fast(r) for r in (0.5, 1.0, 1.5, 2.0, 4.0, 4.1)] == [
            pytest.approx(share / 3) for share in (2, 2, 2, 2, 1, 0)
        ]
        assert [after.fast(r) for r in (1.0, 1.5, 1.6, 2.0, 4.1)] == [
            pytest.approx(share / 3) for share in (3, 3, 2, 2, 0)
        ]

    def test_attempt_fast_p_counts_what_was_reached_within_n_attempts(self, alice: User) -> None:
        before, after = (side.figures for side in seen(alice, *scenes.two_runs(alice)).sides)
        assert [before.attempt_fast(1.0, n) for n in (1, 2, 3)] == [pytest.approx(x / 3) for x in (1, 2, 2)]
        assert [after.attempt_fast(1.0, n) for n in (1, 2, 3)] == [pytest.approx(x / 3) for x in (2, 2, 3)]
        assert before.geomean_within(1) == pytest.approx(1.0)
        assert before.geomean_within(2) == pytest.approx((2 * 2 * 1) ** (1 / 3))
        assert after.geomean_within(1) == pytest.approx((4 * 4 * 1) ** (1 / 3))

    def test_the_signed_area_is_the_doublings_won_on_the_mean_problem(self, alice: User) -> None:
        before, after = scenes.two_runs(alice)
        won = (2 + 2 + math.log2(1.5)) / 3 - (1 + 2 + 0) / 3
        cell = cells(seen(alice, before, after).groups, "Signed area")[1]
        assert cell.value == pytest.approx(won)
        assert (cell.text, cell.delta) == ("+0.528", "more won")
        other = cells(seen(alice, before, after, more=f"&base={after.pk}").groups, "Signed area")[1]
        assert other.value == pytest.approx(-won)
        assert other.delta == "less won"

    def test_the_gap_takes_eager_where_there_is_no_kernel(self, alice: User) -> None:
        before, after = (side.figures for side in seen(alice, *scenes.two_runs(alice)).sides)
        assert before.gap == pytest.approx((5 * 2.5 * 10) ** (1 / 3))
        assert after.gap == pytest.approx((2.5 * 2.5 * 10 / 1.5) ** (1 / 3))

    def test_what_is_not_common_is_counted_and_left_out(self, alice: User) -> None:
        found = seen(alice, *scenes.two_runs(alice))
        assert (len(found.common.slugs), found.common.elsewhere) == (3, 1)
        assert [cell.text for cell in cells(found.groups, "Attempts")] == ["6", "5"]

    def test_the_smallest_limit_of_attempts_is_what_all_are_seen_at(self, alice: User) -> None:
        before, after = scenes.two_runs(alice)
        Run.objects.filter(pk=after.pk).update(attempts=2)
        assert seen(alice, before, after).attempts == 2
        assert seen(alice, before, after, more="&n=3").attempts == 3


class TestHeld:
    def test_both_figures_stand_in_the_cell_with_and_without_held_times(self, alice: User) -> None:
        before, after = scenes.two_runs(alice)
        on = after.trajectories.get(problem__slug="own/1")
        held = rows.attempt(on, 2, time_s=(on.eager_s or 0) / 20, eager_s=on.eager_s or 0)
        assert held.held
        found = seen(alice, before, after)
        assert found.sides[1].figures.geomean == pytest.approx((4 * 4 * 1.5) ** (1 / 3))
        assert found.sides[1].claimed.geomean == pytest.approx((20 * 4 * 1.5) ** (1 / 3))
        first, second = cells(found.groups, "Geomean speedup")
        assert (first.beside, second.text, second.beside) == ("", "2.88×", "4.93× with held times")
        area = cells(found.groups, "Signed area")[1]
        with_held = (math.log2(20) + 2 + math.log2(1.5)) / 3 - 1
        assert area.text == "+0.528"
        assert area.beside == f"+{with_held:.2f} with held times"

    def test_a_kernel_without_a_baseline_beside_it_takes_its_problem_out_of_every_figure(self, alice: User) -> None:
        before, after = scenes.two_runs(alice)
        on = after.trajectories.get(problem__slug="own/1")
        on.attempts.update(eager_s=None)
        type(on).objects.filter(pk=on.pk).update(eager_s=None)
        found = seen(alice, before, after)
        assert found.common.unmatched == ("own/1",)
        assert found.sides[0].figures.geomean == pytest.approx((4 * 1) ** (1 / 2))
        assert "1 common problem left out of every figure" in " ".join(found.cautions)


class TestCosts:
    def test_tokens_money_and_time_are_of_the_common_problems(self, alice: User) -> None:
        before, after = scenes.two_runs(alice)
        on = before.trajectories.get(problem__slug="own/1")
        scenes.call(on, 900, 100, 0.5)
        scenes.call(on, 1900, 100, 1.5)
        scenes.call(after.trajectories.get(problem__slug="own/1"), 1500, 0, 1.0)
        scenes.call(after.trajectories.get(problem__slug="own/4"), 70_000, 0, 9.0)
        for kind, seconds in (
            (JobKind.ASK, 30),
            (JobKind.BUILD, 20),
            (JobKind.EVALUATE, 40),
            (JobKind.PREPARE, 10),
        ):
            scenes.worked_for(on, kind, seconds)
        found = seen(alice, before, after)
        assert [side.spent.tokens for side in found.sides] == [3000, 1500]
        assert [side.spent.cost for side in found.sides] == [pytest.approx(2.0), pytest.approx(1.0)]
        spent = found.sides[0].spent
        times = [spent.model_s, spent.build_s, spent.evaluate_s, spent.other_s, spent.total_s]
        assert times == [pytest.approx(seconds, abs=1e-3) for seconds in (30, 20, 40, 10, 100)]
        assert cells(found.groups, "Evaluation time")[0].beside.startswith("40")
        assert cells(found.groups, "Cost")[1].text == "1.00\u202fUSD"
        gain = cells(found.groups, "Efficiency gain")[1]
        assert gain.value == pytest.approx((24 ** (1 / 3) / 2) * (3000 / 1500))

    def test_a_sum_with_a_part_that_nobody_counted_is_not_known(self, alice: User) -> None:
        before, _ = scenes.two_runs(alice)
        on = before.trajectories.get(problem__slug="own/1")
        scenes.call(on, 900, 100, 0.5)
        scenes.call(on, None, None, None)
        spent = spent_by([before], [on.problem_id])[before.pk]
        assert (spent.tokens, spent.cost) == (None, None)
        assert spent.why_no_tokens == "1 of 2 calls have no count of tokens"
        assert spent.why_no_cost == "1 of 2 calls have no price"

    def test_money_of_different_kinds_is_not_set_against_each_other(self, alice: User) -> None:
        before, after = scenes.two_runs(alice)
        scenes.call(before.trajectories.get(problem__slug="own/1"), 1, 1, 0.5)
        other = scenes.call(after.trajectories.get(problem__slug="own/1"), 1, 1, 0.5)
        other.currency = "EUR"
        other.save()
        cell = cells(seen(alice, before, after).groups, "Cost")[1]
        assert (cell.delta, cell.note) == ("", "not comparable: another currency")


class TestGroups:
    def test_levels_and_operations_hold_their_problems_alone(self, alice: User) -> None:
        before, after = scenes.two_runs(alice)
        first = before.trajectories.get(problem__slug="own/1").problem
        first.level, first.collection = 1, "KernelBench"
        first.save()
        first.inspections.update(kind="conv")
        found = seen(alice, before, after)
        assert [c.text for c in cells(found.groups, "KernelBench level 1")] == ["2.00×", "4.00×"]
        assert [c.text for c in cells(found.groups, "own")] == ["2.00×", "2.45×"]
        assert [c.text for c in cells(found.groups, "conv")] == ["2.00×", "4.00×"]
        assert cells(found.groups, "conv")[0].beside == "Fast_1 100\u202f%"


class TestApart:
    @pytest.mark.parametrize("name", ["policy", "device"])
    def test_a_speedup_of_another_device_or_policy_is_not_set_against_the_baseline_s(
        self, alice: User, name: str
    ) -> None:
        before, after = scenes.two_runs(alice)
        if name == "policy":
            Run.objects.filter(pk=after.pk).update(policy="tf32")
        else:
            after.trajectories.update(device="NVIDIA H100")
        found = seen(alice, before, after)
        cell = cells(found.groups, "Geomean speedup")[1]
        assert (cell.text, cell.delta, cell.note) == ("2.88×", "", f"not comparable: another {name}")
        assert cells(found.groups, "Signed area")[1].text is None
        assert any(words.startswith(f"The {'policies' if name == 'policy' else 'devices'} differ") for words in
                   found.cautions)  # fmt: skip
        assert all(line.winner == "" and "another" in line.why for line in found.lines)

    def test_runs_without_a_common_problem_say_so_and_have_no_figures(self, alice: User) -> None:
        one, other = scenes.run(alice, "One"), scenes.run(alice, "Other", finished=None, state="running")
        scenes.worked(one, 1, [2.0])
        scenes.worked(other, 2, [2.0])
        found = seen(alice, one, other)
        assert found.sides[0].figures.geomean is None
        assert "no problem in common" in found.cautions[0]
        assert "Under way: B" in found.cautions[1]
        assert found.lines == []


def test_the_fastest_of_each_problem_is_named_where_one_is_clearly_faster(alice: User) -> None:
    found = seen(alice, *scenes.two_runs(alice))
    told = {line.slug: (line.winner, line.why) for line in found.lines}
    assert told == {"own/1": ("B", ""), "own/2": ("", "even: within 2 %"), "own/3": ("B", "")}
    assert [line.slug for line in found.lines] == ["own/3", "own/1", "own/2"]
    assert found.wins == [("A", 0), ("B", 2)]
