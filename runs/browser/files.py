"""The browser's lists as comma-separated values: times in seconds, what is not known empty."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet

from runs.browser.leaderboard import Leaderboard
from runs.kernel_models import Contender

MOST = 100_000
"""Rows of one file."""

_HEAD = (
    "problem", "name", "kernel", "language", "target", "card", "outcome", "standing", "counts", "tries", "time_s",
    "sol_s", "eager_s", "gap", "speedup", "run", "attempt", "owner", "at",
)  # fmt: skip
_COLUMNS = (
    "problem__slug", "problem__name", "kernel__digest", "language", "target", "device", "outcome", "standing", "held",
    "tries", "time_s", "sol_s", "eager_s", "gap", "speedup", "run_id", "best__number", "owner__username", "at",
)  # fmt: skip


class _Echo:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


def kernel_lines(rows: QuerySet[Contender]) -> Iterator[str]:
    """One line a contender after a head, as the database hands them out."""
    writer = csv.writer(_Echo())
    yield writer.writerow(_HEAD)
    for values in rows.values_list(*_COLUMNS)[:MOST].iterator(chunk_size=2000):
        yield writer.writerow(_raw(values))


def _raw(values: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = ["" if value is None else value for value in values]
    held, at = found[8], found[18]
    found[2], found[8], found[15] = f"k-{found[2]}", "no" if held or found[10] == "" else "yes", f"r-{found[15]}"
    found[18] = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(at, datetime) else ""
    return found


def leaderboard_lines(board: Leaderboard) -> Iterator[str]:
    """The best honest kernel of each problem, in the leaderboard's order."""
    wanted = [row.honest_id for row in board.rows if row.honest_id is not None]
    found = {
        values[0]: values[1:] for values in Contender.objects.filter(pk__in=wanted).values_list("pk", *_COLUMNS)
    }
    writer = csv.writer(_Echo())
    yield writer.writerow(_HEAD)
    for key in wanted:
        if key in found:
            yield writer.writerow(_raw(found[key]))
