"""The charts of a run's gap page by key: what each is called, what it shows, its figure, its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from django.urls import reverse

from runs.board import Row
from runs.charts import template as t
from runs.charts.before_after import (
    Comparison,
    before_after_chart,
    before_after_table,
    fast_p_of_both_chart,
    fast_p_of_both_table,
)
from runs.charts.best import best_chart, best_table
from runs.charts.fast_p import attempt_fast_p_chart, attempt_fast_p_table, fast_p_chart, fast_p_table
from runs.charts.gap_rows import gap_rows_chart, gap_rows_table
from runs.charts.roofline import roofline_chart, roofline_table
from runs.charts.speedups import speedups_chart, speedups_table
from runs.charts.tables import Table
from runs.gaps import DEFAULT_R, Gaps, comparison
from runs.models import Run


@dataclass(frozen=True)
class Scene:
    """What the charts of one page are made of. ``before`` is the run beside it, None where there is none."""

    gaps: Gaps
    before: Gaps | None = None
    r: float = DEFAULT_R

    @cached_property
    def comparison(self) -> Comparison | None:
        """Both runs' common problems."""
        return comparison(self.before, self.gaps) if self.before else None

    @cached_property
    def address(self) -> t.Address:
        """Addresses of the run's candidates, the same for all of its charts."""
        return _address(self.gaps.run)


@dataclass(frozen=True)
class Chart:
    """One chart. ``says`` is what its head says beside the title; ``describes`` is its label for screen readers."""

    key: str
    title: str
    says: str
    describes: str
    figure: Callable[[Scene], t.Figure]
    table: Callable[[Scene], Table]


def _address(run: Run) -> t.Address:
    """Addresses of a run's candidates, each problem's part worked out once: a page has thousands of them."""
    known: dict[str, str] = {}

    def address(slug: str, number: int) -> str:
        if slug not in known:
            known[slug] = reverse("candidate", args=[run.pk, slug, 0]).removesuffix("0/")
        return f"{known[slug]}{number}/"

    return address


def _link(scene: Scene) -> Callable[[Row, int], str]:
    address = scene.address
    return lambda row, number: address(row.trajectory.problem.slug, number)


def _both(scene: Scene) -> tuple[Comparison, Gaps]:
    if scene.comparison is None or scene.before is None:
        raise LookupError("there is no run beside this one")
    return scene.comparison, scene.before


def _before_after(scene: Scene) -> t.Figure:
    found, before = _both(scene)
    return before_after_chart(found, (_address(before.run), scene.address))


CHARTS = {
    chart.key: chart
    for chart in (
        Chart(
            "gap", "Gap by problem", "best time that counts ÷ SOL, log; most headroom first",
            "Gap to SOL of each problem, most headroom first",
            lambda scene: gap_rows_chart(scene.gaps.readings, scene.address),
            lambda scene: gap_rows_table(scene.gaps.readings, scene.address),
        ),
        Chart(
            "roofline", "Roofline", "filled: best of a problem; hollow: other attempts that passed",
            "Roofline of the device with every candidate as a point",
            lambda scene: roofline_chart(scene.gaps.readings, scene.gaps.device, scene.address, scene.gaps.clusters[0]),
            lambda scene: roofline_table(scene.gaps.readings, scene.address),
        ),
        Chart(
            "speedup", "Speedup against SOL fraction", "each attempt over torch eager of its own call",
            "Speedup over torch eager against the fraction of the speed of light",
            lambda scene: speedups_chart(scene.gaps.readings, scene.address, scene.gaps.clusters[0]),
            lambda scene: speedups_table(scene.gaps.readings, scene.address),
        ),
        Chart(
            "fast-p", "Fast_p", "share of problems at r× torch eager or more",
            "Share of problems at r times torch eager or more, by r",
            lambda scene: fast_p_chart(scene.gaps.readings, scene.r),
            lambda scene: fast_p_table(scene.gaps.readings, scene.r),
        ),
        Chart(
            "attempt-fast-p", "Attempt-Fast_p", "share of problems that reached r× within k attempts",
            "Share of problems that reached r times torch eager, by attempts",
            lambda scene: attempt_fast_p_chart(scene.gaps.readings, scene.r, scene.gaps.run.attempts),
            lambda scene: attempt_fast_p_table(scene.gaps.readings, scene.r, scene.gaps.run.attempts),
        ),
        Chart(
            "best", "Best time over SOL", "best so far by attempt, against eager and the bound",
            "Best time over SOL by attempt",
            lambda scene: best_chart(scene.gaps.board, _link(scene)),
            lambda scene: best_table(scene.gaps.board),
        ),
    )
}  # fmt: skip
BOTH = {
    chart.key: chart
    for chart in (
        Chart(
            "before-after", "Before and after", "hollow: before; filled: after; dotted: farther from SOL than before",
            "Gap of each common problem in both runs, biggest win first",
            _before_after,
            lambda scene: before_after_table(_both(scene)[0], scene.address),
        ),
        Chart(
            "fast-p-both", "Fast_p of both", "the area between the two lines is what was won",
            "Fast_p of both runs' common problems, by r",
            lambda scene: fast_p_of_both_chart(_both(scene)[0]),
            lambda scene: fast_p_of_both_table(_both(scene)[0]),
        ),
    )
}  # fmt: skip


def charts_of(scene: Scene) -> list[Chart]:
    """The charts that a page can draw, those of two runs first."""
    return [*(BOTH.values() if scene.before else ()), *CHARTS.values()]


def chart_named(key: str, scene: Scene) -> Chart | None:
    """A chart by its key; None for an unknown one, and for one of two runs where there is one."""
    return next((chart for chart in charts_of(scene) if chart.key == key), None)
