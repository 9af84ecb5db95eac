"""Sorted pages of contenders that stay put while rows come in: a page begins after a row, not after a number of rows.

What has no value in the sorted column comes last, whichever way it is sorted; there the newest is first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils.dateparse import parse_datetime

from runs.kernel_models import Contender

PAGE = 50
_MOST_ID = 2**62


@dataclass(frozen=True, slots=True)
class Sort:
    """One way to sort: the column, whether down, its name in the address and what is said of it."""

    name: str
    column: str
    down: bool
    words: str

    @property
    def turned(self) -> str:
        """The same column the other way, by its name in the address."""
        return self.name.removeprefix("-") if self.name.startswith("-") else f"-{self.name}"


SORTS = {
    sort.name: sort
    for sort in (
        Sort("gap", "gap", False, "nearest SOL first"),
        Sort("-gap", "gap", True, "farthest from SOL first"),
        Sort("-speedup", "speedup", True, "most times eager first"),
        Sort("speedup", "speedup", False, "fewest times eager first"),
        Sort("time", "counted_s", False, "shortest time first"),
        Sort("-time", "counted_s", True, "longest time first"),
        Sort("-when", "at", True, "newest first"),
        Sort("when", "at", False, "oldest first"),
        Sort("problem", "problem_id", False, "by problem"),
        Sort("-problem", "problem_id", True, "by problem, last first"),
    )
}


@dataclass(frozen=True, slots=True)
class Window:
    """The rows of one page; ``after`` and ``before`` are the addresses' cursors, empty at either end."""

    rows: tuple[Contender, ...]
    before: str
    after: str


def sort_of(name: str) -> Sort:
    """How the address sorts; nearest SOL first where it names no way that is known."""
    return SORTS.get(name, SORTS["gap"])


def window(
    rows: QuerySet[Contender],
    sort: Sort,
    after: str = "",
    before: str = "",
    *,
    size: int = PAGE,
    timed: bool = True,
) -> Window:
    """The page after one row, or before one, or the first. Two queries at most.

    ``timed``: whether any row may have a time; where none has, nobody looks for those that have one.
    """
    back = bool(before) and not after
    cursor = _read(sort, before if back else after)
    found = _taken(rows, sort, cursor, back, size + 1, timed)
    more = len(found) > size
    kept = found[:size]
    if back:
        kept.reverse()
    if not kept:
        return Window((), "", "")
    has_before, has_after = (more, True) if back else (cursor is not None, more)
    first, last = _cursor(sort, kept[0]), _cursor(sort, kept[-1])
    return Window(tuple(kept), first if has_before else "", last if has_after else "")


def in_order(rows: QuerySet[Contender], sort: Sort) -> QuerySet[Contender]:
    """All rows in reading order, those without a value last."""
    column = F(sort.column)
    first = column.desc(nulls_last=True) if sort.down else column.asc(nulls_last=True)
    return rows.order_by(first, "-pk" if sort.down or _may_be_null(sort) else "pk")


@dataclass(frozen=True, slots=True)
class _Cursor:
    value: Any
    pk: int


def _cursor(sort: Sort, row: Contender) -> str:
    value = getattr(row, sort.column)
    text = "" if value is None else value.isoformat() if isinstance(value, datetime) else repr(value)
    return f"{text}~{row.pk}"


def _read(sort: Sort, text: str) -> _Cursor | None:
    said, _, key = text.rpartition("~")
    if not (key.isascii() and key.isdigit() and len(key) < 19):
        return None
    try:
        value = _value(sort, said) if said else None
    except ValueError:
        return None
    return None if said and value is None else _Cursor(value, int(key))


def _value(sort: Sort, said: str) -> Any:
    """What a cursor says of the sorted column; None or a ValueError where it cannot stand there."""
    if sort.column == "at":
        return parse_datetime(said)
    value = float(said)
    return value if abs(value) < (_MOST_ID if sort.column == "problem_id" else inf) else None


def _taken(
    rows: QuerySet[Contender], sort: Sort, cursor: _Cursor | None, back: bool, count: int, timed: bool
) -> list[Contender]:
    """Rows in reading order from the cursor on, or away from it towards the start. Those without a value lie last."""
    valued = rows.filter(**{f"{sort.column}__isnull": False}) if _may_be_null(sort) else rows
    if _may_be_null(sort) and not timed:
        valued = rows.none()
    parts: list[tuple[QuerySet[Contender], Sequence[str]]] = [(valued, _order(sort, back))]
    if _may_be_null(sort):
        empty = rows.filter(**{f"{sort.column}__isnull": True})
        parts.append((empty, ["pk" if back else "-pk"]))
    if back:
        parts.reverse()
    if cursor is not None:
        in_empty = cursor.value is None
        at = (0 if back else -1) if in_empty else (-1 if back else 0)
        parts = parts[at:] if at >= 0 else parts[-1:]
        first, order = parts[0]
        parts[0] = (first.filter(_beyond(sort, cursor, back)), order)
    found: list[Contender] = []
    for part, order in parts:
        if len(found) < count:
            found += part.order_by(*order)[: count - len(found)]
    return found


def _may_be_null(sort: Sort) -> bool:
    return sort.column in ("gap", "speedup", "counted_s")


def _order(sort: Sort, back: bool) -> list[str]:
    sign = "-" if sort.down != back else ""
    return [f"{sign}{sort.column}", f"{sign}pk"]


def _beyond(sort: Sort, cursor: _Cursor, back: bool) -> Q:
    if cursor.value is None:
        return Q(pk__gt=cursor.pk) if back else Q(pk__lt=cursor.pk)
    way = "lt" if sort.down != back else "gt"
    # The first condition says what the second one implies: it is what an index can begin with.
    reached = Q(**{f"{sort.column}__{way}e": cursor.value})
    return reached & (Q(**{f"{sort.column}__{way}": cursor.value}) | Q(**{f"pk__{way}": cursor.pk}))
