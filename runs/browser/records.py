"""How the record of a problem on a card fell: each attempt that was faster than all before it, of all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from kernels.models import Problem
from runs.browser.rows import DIGITS
from runs.charts.tables import Column, Table
from runs.charts.tables import Row as TableRow
from runs.models import Attempt


@dataclass(frozen=True, slots=True)
class Record:
    """One fall of a record. ``time_s`` in seconds; ``share`` is its time over the record before, None for the first."""

    attempt_id: int
    number: int
    run_id: int
    time_s: float
    at: datetime
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Told(Record):
    """A record with who set it."""

    owner: str = ""
    digest: str = ""
    language: str = ""
    sol_s: float | None = None
    eager_s: float | None = None
    slug: str = ""

    @property
    def gap(self) -> float | None:
        """Its time over the steering bound."""
        return self.time_s / self.sol_s if self.sol_s else None

    @property
    def speedup(self) -> float | None:
        """Torch eager of its own call over it."""
        return self.eager_s / self.time_s if self.eager_s else None

    @property
    def name(self) -> str:
        """Its kernel, as the address of the kernel's page has it."""
        return f"k-{self.digest[:DIGITS]}"

    @property
    def change(self) -> float | None:
        """Its time over the record before, less 1; None for the first."""
        return None if self.share is None else self.share - 1

    @property
    def address(self) -> str:
        """Its candidate page."""
        return reverse("candidate", args=[self.run_id, self.slug, self.number])


def _firsts(problems: Sequence[int], device: str) -> QuerySet[Attempt]:
    """Attempts that were the best of their own trajectory when they ended: a record of all runs is one of these."""
    return Attempt.objects.filter(
        new_best=True, held="", time_s__isnull=False, finished__isnull=False,
        trajectory__problem_id__in=problems, trajectory__device=device,
    ).order_by("finished", "pk")  # fmt: skip


def records(problems: Sequence[int], device: str) -> dict[int, tuple[Record, ...]]:
    """How the record of each problem fell on ``device``, oldest first. One query."""
    kept: dict[int, list[Record]] = {}
    columns = ("trajectory__problem_id", "pk", "number", "trajectory__run_id", "time_s", "finished")
    for problem, pk, number, run_id, time_s, at in _firsts(problems, device).values_list(*columns):
        before = kept.setdefault(problem, [])
        if not before or time_s < before[-1].time_s:
            share = time_s / before[-1].time_s if before else None
            before.append(Record(pk, number, run_id, time_s, at, share))
    return {problem: tuple(found) for problem, found in kept.items()}


def told_records(problem: Problem, device: str) -> list[Told]:
    """As ``records`` for one problem, with who set each. Two queries."""
    found = records([problem.pk], device).get(problem.pk, ())
    attempts = Attempt.objects.filter(pk__in=[one.attempt_id for one in found]).values_list(
        "pk",
        "trajectory__run__owner__username",
        "kernel__digest",
        "kernel__language",
        "trajectory__sol_s",
        "eager_s",
    )
    seen = {pk: further for pk, *further in attempts}
    return [_told(one, problem.slug, seen[one.attempt_id]) for one in found if one.attempt_id in seen]


def _told(one: Record, slug: str, further: Sequence[Any]) -> Told:
    owner, digest, language, sol_s, eager_s = further
    return Told(
        one.attempt_id, one.number, one.run_id, one.time_s, one.at, one.share, owner, digest, language, sol_s, eager_s,
        slug,
    )  # fmt: skip


_COLUMNS = (
    Column("at", "When, UTC"),
    Column("run", "Run"),
    Column("attempt", "Attempt", "count"),
    Column("kernel", "Kernel"),
    Column("language", "Language"),
    Column("owner", "By"),
    Column("time_s", "Time, ms", "ms"),
    Column("over_sol", "Over SOL", "times", "not bounded"),
    Column("times_eager", "× eager", "times", "torch eager was not measured beside it"),
    Column("over_record_before", "Over the record before", "times", "the first"),
)


def record_table(told: Sequence[Told]) -> Table:
    """The records as a table, oldest first."""
    rows = [
        TableRow(
            (
                one.at.strftime("%Y-%m-%d %H:%M"), f"r-{one.run_id}", one.number, f"k-{one.digest[:6]}", one.language,
                one.owner, one.time_s, one.gap, one.speedup, one.share,
            ),
            one.address,
        )
        for one in told
    ]  # fmt: skip
    return Table("Each time the record fell", _COLUMNS, rows)
