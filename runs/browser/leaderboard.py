"""The best honest kernel of each problem on a card, and what was left out: beside each other, never in one figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, OuterRef, Subquery

from kernels.models import Problem
from runs import figures
from runs.browser.records import Record, records
from runs.browser.rows import KernelRow, shown
from runs.charts.spark import spark
from runs.kernel_models import Contender
from sol.gap.standing import Held


@dataclass(frozen=True, slots=True)
class Best:
    """A problem's best on a card. ``honest`` counts; ``claimed`` is the fastest whether it counts or not."""

    slug: str
    name: str
    problem_id: int
    honest_id: int | None
    claimed_id: int | None
    gap: float | None
    speedup: float | None
    at: float | None
    claimed_speedup: float | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Contenders with a time that does not count: ``settled`` as hack, leak or bug, ``waiting`` for a person."""

    settled: int
    waiting: int

    @property
    def any(self) -> bool:
        """Whether there are some."""
        return bool(self.settled or self.waiting)


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """All problems tried on a card. ``speedup`` is the geomean over torch eager, ``inflated`` with what is left out."""

    device: str
    devices: tuple[tuple[str, int], ...]
    rows: tuple[Best, ...]
    left_out: LeftOut
    speedup: float | None
    inflated: float | None
    gap: float | None

    @property
    def reached(self) -> int:
        """Problems that have an honest kernel."""
        return sum(row.honest_id is not None for row in self.rows)


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the leaderboard as it is shown: ``row`` is None where the problem has no honest kernel yet.

    ``above``: faster ones that do not count, ``record`` how the best fell.
    """

    best: Best
    row: KernelRow | None
    above: int
    record: tuple[Record, ...]

    @property
    def spark(self) -> dict[str, Any] | None:
        """The record over SOL, step by step."""
        sol_s = self.row.contender.sol_s if self.row else None
        steps = [one.time_s / sol_s for one in self.record] if sol_s else []
        return spark(steps, max(len(steps), 2), None)


ORDERS: dict[str, tuple[Callable[[Best], float | None], bool, str]] = {
    "gap": (lambda row: row.gap, False, "nearest SOL first"),
    "-gap": (lambda row: row.gap, True, "farthest from SOL first"),
    "-speedup": (lambda row: row.speedup, True, "most times eager first"),
    "speedup": (lambda row: row.speedup, False, "fewest times eager first"),
    "-when": (lambda row: row.at, True, "newest record first"),
    "when": (lambda row: row.at, False, "oldest record first"),
    "problem": (lambda row: float(row.problem_id), False, "by problem"),
    "-problem": (lambda row: float(row.problem_id), True, "by problem, last first"),
}


def devices() -> tuple[tuple[str, int], ...]:
    """Cards on which something was timed, with how many contenders; the commonest first. One query."""
    timed = Contender.objects.filter(time_s__isnull=False).exclude(device="").order_by()
    found = timed.values_list("device").annotate(n=Count("*"))
    return tuple(sorted(found, key=lambda one: (-one[1], one[0])))


def leaderboard(device: str, order: str) -> Leaderboard:
    """The best of each problem on ``device``, or on the commonest where that is not known. Four queries."""
    known = devices()
    names = [name for name, _ in known]
    chosen = device if device in names else (names[0] if names else "")
    rows = _bests(chosen) if chosen else []
    value_of, down, _ = ORDERS.get(order, ORDERS["gap"])
    rows.sort(key=lambda row: _place(value_of(row), down))
    return Leaderboard(
        device=chosen,
        devices=known,
        rows=tuple(rows),
        left_out=_left_out(chosen),
        speedup=_geomean([row.speedup for row in rows]),
        inflated=_geomean([row.claimed_speedup for row in rows]),
        gap=figures.geomean([row.gap for row in rows if row.gap is not None]),
    )


def _place(value: float | None, down: bool) -> tuple[bool, float]:
    return value is None, 0.0 if value is None else (-value if down else value)


def _geomean(speedups: list[float | None]) -> float | None:
    """A problem without a kernel counts as the baseline; None where no problem has one."""
    if all(one is None for one in speedups):
        return None
    return figures.geomean([one if one is not None else 1.0 for one in speedups])


def _first(device: str, column: str) -> Subquery:
    """The fastest contender of a problem by one of the two times: one look into an index that ends in it."""
    mine = Contender.objects.filter(device=device, problem=OuterRef("pk"), **{f"{column}__isnull": False})
    return Subquery(mine.order_by(column, "pk").values("pk")[:1])


def _bests(device: str) -> list[Best]:
    found = Problem.objects.order_by("pk").annotate(
        honest=_first(device, "counted_s"), claimed=_first(device, "time_s")
    )
    told = [one for one in found.values_list("pk", "slug", "name", "honest", "claimed") if one[3] or one[4]]
    wanted = {key for one in told for key in one[3:] if key is not None}
    columns = ("pk", "gap", "speedup", "at", "time_s", "eager_s")
    seen = {one[0]: one for one in Contender.objects.filter(pk__in=wanted).values_list(*columns)}
    rows = []
    for pk, slug, name, honest, claimed in told:
        _, gap, speedup, at, _, _ = seen.get(honest, (None,) * 6)
        _, _, _, _, time_s, eager_s = seen.get(claimed, (None,) * 6)
        inflated = eager_s / time_s if eager_s and time_s else None
        rows.append(Best(slug, name, pk, honest, claimed, gap, speedup, at.timestamp() if at else None, inflated))
    return rows


def _left_out(device: str) -> LeftOut:
    held = Contender.objects.filter(device=device, held__in=list(Held)).order_by()
    counted = dict(held.values_list("held").annotate(n=Count("*")))
    settled = sum(counted.get(kind, 0) for kind in (Held.HACKED, Held.BUG))
    return LeftOut(settled, sum(counted.values()) - settled)


def lines(board: Leaderboard, rows: list[Best]) -> list[Line]:
    """What one page of the leaderboard shows. Three queries."""
    wanted = [row.honest_id for row in rows if row.honest_id is not None]
    found = {one.pk: one for one in shown(Contender.objects.filter(pk__in=wanted))}
    problems = [row.problem_id for row in rows]
    fallen, above = records(problems, board.device), _above(board, rows)
    return [
        Line(
            best=row,
            row=KernelRow(found[row.honest_id]) if row.honest_id in found else None,
            above=above.get(row.problem_id, 0),
            record=fallen.get(row.problem_id, ()),
        )
        for row in rows
    ]


def _above(board: Leaderboard, rows: list[Best]) -> dict[int, int]:
    """How many contenders that do not count are faster than the honest best of their problem."""
    best = Contender.objects.filter(
        device=board.device, problem=OuterRef("problem"), counted_s__isnull=False
    ).order_by("counted_s", "pk")
    suspicious = [row.problem_id for row in rows if row.claimed_id != row.honest_id]
    held = Contender.objects.filter(device=board.device, problem_id__in=suspicious, held__in=list(Held))
    held = held.annotate(honest=Subquery(best.values("counted_s")[:1]))
    faster = held.exclude(honest__isnull=False, time_s__gte=F("honest")).order_by()
    return dict(faster.values_list("problem_id").annotate(n=Count("*")))
