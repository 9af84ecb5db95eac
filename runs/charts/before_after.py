"""Two runs beside each other: each common problem's gap before and after, and both Fast_p curves.

A gap is a multiple of its own run's bound; where the runs' device, target or policy differ, the page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from runs import figures
from runs.charts import template as t
from runs.charts.fast_p import AT, axis_of, curve, fast_p, share_axis, signed_area, speedups
from runs.charts.gap_rows import FLAT, NAMED, TALL
from runs.charts.tables import Column, Row, Table
from runs.readings import Reading

_SAME = 0.02
"""A change of less than this share is drawn as none: evaluations of one kernel lie about as far apart."""


@dataclass(frozen=True)
class Pair:
    """One problem in both runs."""

    before: Reading
    after: Reading

    @property
    def change(self) -> float | None:
        """Gap after over gap before; below 1 is a win. A side without a kernel counts as eager."""
        if not self.before.counted_gap or not self.after.counted_gap:
            return None
        return self.after.counted_gap / self.before.counted_gap


@dataclass(frozen=True)
class Comparison:
    """The problems of both runs; ``names`` are the runs', the earlier first."""

    names: tuple[str, str]
    pairs: tuple[Pair, ...]
    only_before: int
    only_after: int

    @cached_property
    def drawn(self) -> list[Pair]:
        """Pairs with both gaps, biggest win first."""
        known = [(pair.change, index, pair) for index, pair in enumerate(self.pairs) if pair.change is not None]
        return [pair for _, _, pair in sorted(known, key=lambda item: item[:2])]

    @property
    def better(self) -> int:
        """Problems that are clearly closer to SOL."""
        return sum((pair.change or 1.0) < 1 - _SAME for pair in self.drawn)

    @property
    def worse(self) -> int:
        """Problems that are clearly farther."""
        return sum((pair.change or 1.0) > 1 + _SAME for pair in self.drawn)

    @property
    def geomean(self) -> float | None:
        """Geomean of the changes."""
        return figures.geomean([pair.change for pair in self.drawn if pair.change])

    @property
    def area(self) -> float | None:
        """The signed area between the two Fast_p curves, in doublings (see ``signed_area``)."""
        return signed_area([pair.before for pair in self.pairs], [pair.after for pair in self.pairs])

    @property
    def area_words(self) -> str:
        """The area with its sign; empty of no common problem."""
        if self.area is None:
            return ""
        text = figures.significant(round(self.area, 3))
        return f"+{text}" if self.area > 0 else text


def compare(before: Sequence[Reading], after: Sequence[Reading], names: tuple[str, str]) -> Comparison:
    """Pair two runs' problems by name."""
    later = {one.slug: one for one in after}
    pairs = tuple(Pair(one, later[one.slug]) for one in before if one.slug in later)
    return Comparison(names, pairs, len(before) - len(pairs), len(after) - len(pairs))


def before_after_chart(found: Comparison, addresses: tuple[t.Address, t.Address]) -> t.Figure:
    """A dumbbell a problem: hollow before, filled after, the line solid where it came closer and dotted where not."""
    rows = found.drawn
    gaps = [gap for pair in rows for gap in (pair.before.counted_gap, pair.after.counted_gap) if gap]
    epsilon = rows[0].after.epsilon if rows else 0.25
    first, last = t.octaves(gaps, 0.75, 4.0)
    named = len(rows) <= NAMED
    data = [
        _lines(rows, better=True),
        _lines(rows, better=False),
        t.marks(_ends(rows, 0, found.names[0], addresses[0]), t.END._replace(size=8 if named else 6)),
        t.marks(_ends(rows, 1, found.names[1], addresses[1]), t.BEST._replace(size=8 if named else 6)),
    ]
    layout = {
        "height": max(1, len(rows)) * (TALL if named else FLAT) + 64,
        "margin": {"l": 216 if named else 20, "r": 64 if named else 20, "t": 26, "b": 38},
        "shapes": [
            t.band("x", 2.0**first, 1.0, "--bg-1"), t.band("x", 1.0, 1 + epsilon, "--sol-bg"),
            t.across("x", 1.0, "--sol"),
        ],
        "annotations": [
            t.note("SOL", "--sol", x=0, yref="paper", y=1, yanchor="bottom"), *(_changes(rows) if named else []),
        ],
        "xaxis": {**t.doublings(first, last), "title": {"text": "gap: best ÷ SOL, without a kernel as eager"}},
        "yaxis": {
            "range": [len(rows) - 0.5, -0.5], "showgrid": False,
            "tickvals": list(range(len(rows))) if named else [],
            "ticktext": [t.short(pair.after.title, 32) for pair in rows] if named else [],
        },
    }  # fmt: skip
    slugs = {"ticktext": [t.short(pair.after.slug, 12) for pair in rows]} if named else {}
    return t.figure(data, layout, narrow={"margin": {"l": 56 if named else 16, "r": 52 if named else 16},
                                          "yaxis": slugs})  # fmt: skip


def _lines(rows: Sequence[Pair], *, better: bool) -> t.Trace:
    x: list[float | None] = []
    y: list[float | None] = []
    for index, pair in enumerate(rows):
        if ((pair.change or 1.0) <= 1) is better:
            x += [pair.before.counted_gap, pair.after.counted_gap, None]
            y += [index, index, None]
    return t.line(x, y, "--ctl", 2, dash="solid" if better else "2px,3px")


def _ends(rows: Sequence[Pair], side: int, name: str, address: t.Address) -> list[t.Point]:
    found = []
    for index, pair in enumerate(rows):
        one = (pair.before, pair.after)[side]
        gap = one.counted_gap or 1.0
        words = f"best #{one.best.number}" if one.best else "no kernel, as eager"
        sentence = f"{one.title}, {name}, {words}: {figures.ratio(gap)} of SOL"
        found.append(t.Point(gap, index, address(one.slug, one.best.number) if one.best else "", sentence))
    return found


def _changes(rows: Sequence[Pair]) -> list[dict[str, Any]]:
    right = {"xref": "paper", "x": 1, "xanchor": "left", "xshift": 10, "narrow": {}}
    return [
        t.note(figures.change((pair.change or 1.0) - 1), "--ink-2", y=index, **right)
        for index, pair in enumerate(rows)
    ]


def fast_p_of_both_chart(found: Comparison) -> t.Figure:
    """Fast_p of the common problems, before dashed and after solid; the area between them is the page's number."""
    before, after = [p.before for p in found.pairs], [p.after for p in found.pairs]
    ends = [axis_of(before), axis_of(after)]
    axis = (min(low for low, _ in ends), max(high for _, high in ends))
    data = [curve(before, axis, "--ink-3", "5px,4px"), curve(after, axis, "--ink")] if found.pairs else []
    layout = {
        "height": 220, "margin": {"l": 44, "r": 18, "t": 22, "b": 42},
        "annotations": [
            t.note(f"dashed: {found.names[0]}, solid: {found.names[1]}", "--ink-2", xref="paper", x=1, yref="paper",
                   y=1, xanchor="right", yanchor="bottom"),
        ],
        "xaxis": {**t.doublings(*axis, 7), "title": {"text": "r, speedup over torch eager"}},
        "yaxis": share_axis(),
    }  # fmt: skip
    return t.figure(data, layout)


_COLUMNS = (
    Column("problem", "Problem"),
    Column("name", "Name"),
    Column("gap_before", "Gap before", "times", "no passing kernel that counts"),
    Column("gap_after", "Gap after", "times", "no passing kernel that counts"),
    Column("eager_gap_before", "Eager before", "times"),
    Column("eager_gap_after", "Eager after", "times"),
    Column("change", "After ÷ before", "times", "not known on both sides"),
    Column("speedup_before", "× eager before", "times", "no passing kernel that counts"),
    Column("speedup_after", "× eager after", "times", "no passing kernel that counts"),
)


def before_after_table(found: Comparison, address: t.Address) -> Table:
    """All common problems; ``address`` is the later run's."""
    shown = found.drawn
    known, rows = set(map(id, shown)), []
    for pair in [*shown, *(pair for pair in found.pairs if id(pair) not in known)]:
        a, b = pair.before, pair.after
        values = (
            b.slug, b.name, a.gap, b.gap, a.eager_gap, b.eager_gap, pair.change, a.speedup, b.speedup
        )  # fmt: skip
        rows.append(Row(values, address(b.slug, b.best.number) if b.best else ""))
    return Table("One row a problem of both runs, biggest win first", _COLUMNS, rows)


def fast_p_of_both_table(found: Comparison) -> Table:
    """Both shares at some round ratios, and at every speedup that occurs (in files)."""
    before, after = [p.before for p in found.pairs], [p.after for p in found.pairs]
    rows = []
    for r in sorted({*AT, *speedups(before), *speedups(after)}):
        a, b = fast_p(before, r), fast_p(after, r)
        change = None if a is None or b is None else b - a
        rows.append(Row((r, a, b, change), aside=r not in AT))
    columns = (
        Column("r", "r", "times"), Column("fast_p_before", "Before", "share", "no common problem"),
        Column("fast_p_after", "After", "share", "no common problem"),
        Column("difference", "Difference", "share", "no common problem"),
    )  # fmt: skip
    return Table("Share of the common problems at r× torch eager or more", columns, rows)
