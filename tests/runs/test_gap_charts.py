"""Chart data of the gap page as pure functions: what is drawn, what is left out, what the figures say."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import pytest

from runs.charts.before_after import before_after_chart, compare, fast_p_of_both_chart, fast_p_of_both_table
from runs.charts.clusters import clusters
from runs.charts.fast_p import (
    attempt_fast_p,
    attempt_fast_p_chart,
    curve,
    fast_p,
    fast_p_chart,
    fast_p_table,
    signed_area,
)
from runs.charts.gap_rows import drawn, gap_rows_chart
from runs.charts.roofline import ceilings, roofline_chart, roofline_table
from runs.charts.speedups import speedups_chart, speedups_table
from runs.charts.template import apart, doublings, note, octaves
from runs.readings import Reading, Step
from sol.bounds.record import Device

SOL = 1e-3
CPU = Device("a CPU", "cpu", {"f32": 2.4e11, "bf16": 9e11}, {"f32": 1.2e11}, 2e10, None, None, "measured", None, {})


def step(number: int, over_sol: float | None, *, eager: float = 8.0, held: str = "") -> Step:
    """A passed attempt at a multiple of SOL, or one that was not measured."""
    if over_sol is None:
        return Step(number, "done", "incorrect", None)
    return Step(number, "done", "passed", over_sol * SOL, eager * SOL, held)


def reading(*steps: Step, slug: str = "own/1", **fields: Any) -> Reading:
    counted = [one for one in steps if one.counts]
    best = min(counted, key=lambda one: one.time_s or 0.0, default=None)
    known = {"sol_s": SOL, "floor_s": 0.85 * SOL, "eager_s": 8 * SOL, "flops": 2e8, "intensity": 30.0, **fields}
    return Reading(slug=slug, name="Gemm", steps=steps, best=best, **known)


def address(slug: str, number: int) -> str:
    return f"/{slug}/{number}/"


def opened(figure: dict[str, Any]) -> list[str]:
    return [point[0] for trace in figure["data"] for point in trace.get("customdata") or [] if point[0]]


def symbols(figure: dict[str, Any]) -> dict[str, int]:
    return {t["marker"]["symbol"]: len(t["x"]) for t in figure["data"] if t["mode"] == "markers"}


class TestReading:
    def test_what_is_below_the_floor_is_no_best_and_no_speedup(self) -> None:
        one = reading(step(1, 4.0), step(2, 0.3, held="floor"), step(3, 2.0))
        assert one.gap == pytest.approx(2.0)
        assert one.speedup == pytest.approx(4.0)
        assert [held.number for held in one.held] == [2]

    def test_without_a_kernel_it_counts_as_eager(self) -> None:
        one = reading(step(1, None))
        assert one.gap is None
        assert one.counted_gap == pytest.approx(8.0)
        assert one.unmeasured == 1

    def test_a_speedup_once_reached_stays_reached(self) -> None:
        one = reading(step(1, 4.0, eager=8), step(2, 3.9, eager=6), step(3, 5.0), step(4, 2.0, eager=8))
        assert [k for k, _ in one.reached] == [1, 4]
        assert [speedup for _, speedup in one.reached] == pytest.approx([2.0, 4.0])

    def test_not_bounded_has_no_gap(self) -> None:
        one = reading(step(1, 2.0), sol_s=None)
        assert one.gap is None
        assert one.eager_gap is None


class TestGapRows:
    def test_most_headroom_comes_first_and_the_unbounded_are_left_out(self) -> None:
        rows = [
            reading(step(1, 2.0), slug="a"),
            reading(step(1, 5.0), slug="b"),
            reading(step(1, 3.0), slug="c", sol_s=None),
        ]
        assert [one.slug for one in drawn(rows)] == ["b", "a"]

    def test_each_best_opens_its_candidate_and_what_is_held_has_its_own_mark(self) -> None:
        figure = gap_rows_chart([reading(step(1, 2.0), step(2, 0.3, held="floor"))], address)
        assert opened(figure) == ["/own/1/1/", "/own/1/2/"]
        assert symbols(figure) == {"circle": 1, "diamond-open": 1}
        (held,) = (trace for trace in figure["data"] if trace.get("marker", {}).get("symbol") == "diamond-open")
        assert "suspect: more than 10 % below the floor; under review, not counted" in held["customdata"][0][1]

    def test_the_near_band_ends_at_the_run_s_epsilon(self) -> None:
        figure = gap_rows_chart([reading(step(1, 2.0), epsilon=0.1)], address)
        bands = [shape for shape in figure["layout"]["shapes"] if shape.get("fillcolor") == "--sol-bg"]
        assert [(one["x0"], one["x1"]) for one in bands] == [(1.0, 1.1)]

    def test_beyond_the_axis_is_clamped_with_its_number(self) -> None:
        figure = gap_rows_chart([reading(step(1, 2000.0, eager=4000), eager_s=4000 * SOL)], address)
        best = next(trace for trace in figure["data"] if trace["mode"] == "markers")
        assert best["x"] == [2.0**9]
        assert any(label["text"] == "2,000× →" for label in figure["layout"]["annotations"])

    def test_more_than_forty_rows_are_flat_and_without_names(self) -> None:
        few, many = ([reading(step(1, 2.0), slug=f"p/{i}") for i in range(count)] for count in (40, 41))
        assert gap_rows_chart(few, address)["layout"]["height"] == 40 * 30 + 64
        flat = gap_rows_chart(many, address)["layout"]
        assert flat["height"] == 41 * 8 + 64
        assert flat["yaxis"]["ticktext"] == []

    def test_a_name_cannot_bring_markup_into_labels(self) -> None:
        figure = gap_rows_chart([reading(step(1, 2.0), slug="<b>x</b>")], address)
        assert figure["layout"]["yaxis"]["ticktext"][0].startswith("&lt;b&gt;x")


class TestRoofline:
    def test_roofs_are_named_by_precision_and_memory(self) -> None:
        assert ceilings(CPU) == [("bf16", 9e11), ("f32", 2.4e11), ("f32 vector", 1.2e11)]
        labels = [one["text"].replace("\u202f", " ") for one in
                  roofline_chart([reading(step(1, 2.0))], CPU, address)["layout"]["annotations"]]  # fmt: skip
        assert labels == ["bf16 900 GFLOP/s", "f32 240 GFLOP/s", "f32 vector 120 GFLOP/s", "memory 20.0 GB/s"]

    def test_of_roofs_that_nearly_coincide_the_highest_is_named(self) -> None:
        close = Device("c", "cpu", {"f32": 2.4e11, "f16": 2.5e11}, {}, 2e10, None, None, "measured", None, {})
        labels = [one["text"] for one in roofline_chart([], close, address)["layout"]["annotations"]]
        assert len(labels) == 2

    def test_a_point_is_work_over_time_at_the_problem_s_intensity(self) -> None:
        figure = roofline_chart([reading(step(1, 2.0), step(2, 4.0))], None, address)
        best = next(trace for trace in figure["data"] if trace["marker"]["symbol"] == "circle")
        assert (best["x"], best["y"]) == ([30.0], [pytest.approx(1e11)])

    def test_without_arithmetic_there_is_no_place(self) -> None:
        figure = roofline_chart([reading(step(1, 2.0), flops=None)], CPU, address)
        assert opened(figure) == []
        assert roofline_table([reading(step(1, 2.0), flops=None)], address).rows == []


class TestSpeedups:
    def test_attempts_on_one_problem_lie_on_a_line_of_slope_one(self) -> None:
        figure = speedups_chart([reading(step(1, 4.0), step(2, 2.0))], address)
        points = [(x, y) for trace in figure["data"] for x, y in zip(trace["x"], trace["y"], strict=True)]
        assert sorted(points) == [
            (pytest.approx(0.25), pytest.approx(2.0)),
            (pytest.approx(0.5), pytest.approx(4.0)),
        ]

    def test_the_score_is_guarded(self) -> None:
        table = speedups_table([reading(step(1, 2.0), step(2, 0.9), step(3, 0.3, held="floor"))], address)
        scores = [(row.values[7], row.values[8]) for row in table.rows]
        assert scores[0] == (pytest.approx(1 / (1 + 1 / 7)), None)
        assert scores[1] == (None, "below the bound: counts, without a score")
        assert scores[2][0] is None
        assert "not counted" in scores[2][1]


class TestFastP:
    rows = [
        reading(step(1, 8.0), step(2, 4.0)),  # 2×
        reading(step(1, 2.0)),  # 4×
        reading(step(1, None)),
        reading(step(1, 0.2, held="floor")),
    ]

    def test_who_has_no_kernel_that_counts_is_not_reached(self) -> None:
        assert fast_p(self.rows, 1.0) == 0.5
        assert fast_p(self.rows, 2.0) == 0.5
        assert fast_p(self.rows, 2.01) == 0.25
        assert fast_p(self.rows, 4.01) == 0.0
        assert fast_p([], 1.0) is None

    def test_within_k_attempts(self) -> None:
        assert [attempt_fast_p(self.rows, 2.0, k) for k in (0, 1, 2)] == [0.0, 0.25, 0.5]
        assert attempt_fast_p_chart(self.rows, 2.0, 2)["data"][0]["y"] == [0.0, 0.25, 0.5]

    def test_the_curve_goes_down_behind_each_speedup(self) -> None:
        line = curve(self.rows, (0, 3), "--ink")
        corners = list(zip(line["x"], line["y"], strict=True))
        assert corners == [(1.0, 0.5), (pytest.approx(2), 0.5), (pytest.approx(2), 0.25), (pytest.approx(4), 0.25),
                           (pytest.approx(4), 0.0), (8.0, 0.0)]  # fmt: skip

    def test_r_is_marked_and_said(self) -> None:
        figure = fast_p_chart(self.rows, 3.0)
        assert "Fast_p(3.00×) = 25\u202f%, 1 of 4" in figure["layout"]["annotations"][0]["text"]
        assert figure["data"][1]["x"] == [3.0]
        assert figure["reach"]["of"] == 4

    def test_the_table_has_round_ratios_and_files_have_all(self) -> None:
        table = fast_p_table([reading(step(1, 3.0))], 1.0)
        assert table.left_to_files == 1
        file = io.StringIO()
        table.write(file)
        assert "1.0,1,1,1.0" in file.getvalue().splitlines()


class TestBeforeAfter:
    def test_the_area_is_the_mean_of_doublings_won(self) -> None:
        before = [reading(step(1, 4.0), slug="a"), reading(step(1, None), slug="b")]
        after = [reading(step(1, 2.0), slug="a"), reading(step(1, 4.0), slug="b")]
        assert signed_area(before, after) == pytest.approx((math.log2(4 / 2) + math.log2(2)) / 2)
        assert signed_area(after, before) == pytest.approx(-1.0)
        assert signed_area([], []) is None

    def test_it_is_the_area_between_the_curves(self) -> None:
        before = [reading(step(1, ratio), slug=str(i)) for i, ratio in enumerate((8.0, 16.0, 3.0))]
        after = [reading(step(1, ratio), slug=str(i)) for i, ratio in enumerate((2.0, 5.0, 6.0))]
        points = [1.0005 * 1.001**i for i in range(4000)]
        width = math.log2(1.001)
        area = sum(((fast_p(after, r) or 0) - (fast_p(before, r) or 0)) * width for r in points)
        assert signed_area(before, after) == pytest.approx(area, abs=0.003)

    def test_common_problems_are_paired_and_the_others_counted(self) -> None:
        found = compare(
            [reading(step(1, 4.0), slug="a"), reading(step(1, 4.0), slug="x")],
            [reading(step(1, 2.0), slug="a"), reading(step(1, 5.0), slug="y"), reading(step(1, 5.0), slug="z")],
            ("r-1", "r-2"),
        )
        assert (len(found.pairs), found.only_before, found.only_after) == (1, 1, 2)
        assert (found.better, found.worse) == (1, 0)
        assert found.geomean == pytest.approx(0.5)
        assert found.area_words == "+1.00"

    def test_both_ends_open_their_own_run_s_candidate(self) -> None:
        found = compare([reading(step(3, 4.0))], [reading(step(7, 2.0))], ("r-1", "r-2"))
        figure = before_after_chart(found, (lambda s, n: f"/1/{n}", lambda s, n: f"/2/{n}"))
        assert opened(figure) == ["/1/3", "/2/7"]
        assert symbols(figure) == {"circle-open": 1, "circle": 1}
        assert len(fast_p_of_both_chart(found)["data"]) == 2
        assert fast_p_of_both_table(found).left_to_files == 0


class TestFewerMarks:
    many = [reading(*(step(n, 2 + 0.001 * n) for n in range(1, 101)), slug=f"p/{i}") for i in range(10)]

    def test_few_attempts_stand_alone(self) -> None:
        found, width = clusters(self.many[:1])
        assert width == 0.0
        assert all(len(one.steps) == 1 for one in found)

    def test_many_are_put_together_and_none_is_lost(self) -> None:
        found, width = clusters(self.many, most=300)
        assert 0 < width < 0.05
        assert len(found) <= 300
        assert sum(len(one.steps) for one in found) == 10 * 99
        for one in found:
            times = [each.time_s or 0.0 for each in one.steps]
            assert max(times) <= min(times) * (1 + width) * (1 + 1e-12)

    def test_a_mark_says_for_how_many_it_stands(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("runs.charts.speedups.clusters", lambda rows: clusters(rows, most=300))
        figure = speedups_chart(self.many, address)
        squares = next(trace for trace in figure["data"] if trace["marker"]["symbol"] == "square-open")
        assert "attempts" in squares["customdata"][0][1]


def test_figures_are_json_without_nan_and_name_tokens_for_colours() -> None:
    rows = [reading(step(1, 2.0), step(2, 0.3, held="floor")), reading(step(1, None), slug="b", eager_s=None)]
    both = compare(rows, rows, ("r-1", "r-2"))
    for figure in (
        gap_rows_chart(rows, address), roofline_chart(rows, CPU, address), speedups_chart(rows, address),
        fast_p_chart(rows, 1.0), attempt_fast_p_chart(rows, 1.0, 5), before_after_chart(both, (address, address)),
        gap_rows_chart([], address), roofline_chart([], None, address), speedups_chart([], address),
        fast_p_chart([], 1.0), attempt_fast_p_chart([], 1.0, 5),
    ):  # fmt: skip
        text = json.dumps(figure, allow_nan=False)
        assert '"--ink-2"' in text
        assert "rgb" not in text


def test_a_power_of_two_axis_holds_all_values_and_one() -> None:
    first, last = octaves([3.0, 40.0], 1.0, 4.0)
    assert (first, last) == (-1, 6)
    assert 1.0 in doublings(first, last)["tickvals"]


def test_labels_are_moved_apart() -> None:
    notes = [note("a", y=0.0), note("b", y=0.01), note("c", y=1.0)]
    apart(notes, pixels=100)
    assert [one["yshift"] for one in notes] == [0.0, 12.0, 0.0]
