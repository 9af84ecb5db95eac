"""The log as its page asks for it: filters of the address, fifty rows after a key, and all of them as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import QuerySet

from runs.ledger_models import Action, Deed, Through
from runs.people_list import number_of
from runs.queries import PAGE

_HEAD = ("when", "who", "did", "what", "words", "through", "address")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class DeedFilters:
    """What the address asks for. ``since`` and ``until`` are days in UTC, both included."""

    name: str = ""
    action: str = ""
    through: str = ""
    since: date | None = None
    until: date | None = None

    @classmethod
    def of(cls, get: Any) -> DeedFilters:
        """From the address; what is unknown filters nothing."""
        action, through = get.get("action", ""), get.get("through", "")
        return cls(
            name=get.get("who", "").replace("\0", "").strip()[:150],
            action=action if action in Action.values else "",
            through=through if through in Through.values else "",
            since=_day(get.get("since", "")),
            until=_day(get.get("until", "")),
        )

    def __bool__(self) -> bool:
        return bool(self.name or self.action or self.through or self.since or self.until)

    def deeds(self) -> QuerySet[Deed]:
        """What the filters leave, newest first."""
        found = Deed.objects.order_by("-id")
        if self.name:
            found = found.filter(name=self.name)
        if self.action:
            found = found.filter(action=self.action)
        if self.through:
            found = found.filter(through=self.through)
        if self.since:
            found = found.filter(at__gte=datetime.combine(self.since, time(), UTC))
        if self.until:
            found = found.filter(at__lt=datetime.combine(self.until + timedelta(days=1), time(), UTC))
        return found


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if 1970 <= day.year < 9999 else None


def deeds_before(filters: DeedFilters, before: str) -> tuple[list[Deed], int | None]:
    """Fifty deeds older than a key, and the key of the next page; None on the last. One query."""
    key = number_of(before)
    found = filters.deeds().filter(pk__lt=key) if key else filters.deeds()
    rows = list(found[: PAGE + 1])
    return rows[:PAGE], rows[PAGE - 1].pk if len(rows) > PAGE else None


class _Line:
    """What csv writes to: gives the line back."""

    def write(self, text: str) -> str:
        return text


def as_csv(filters: DeedFilters) -> Iterator[str]:
    """All that the filters leave, a line at a time. A cell that a spreadsheet would take for a formula is quoted."""
    writer = csv.writer(_Line())
    yield writer.writerow(_HEAD)
    for deed in filters.deeds().iterator(chunk_size=500):
        cells = (f"{deed.at:%Y-%m-%dT%H:%M:%SZ}", deed.name, deed.get_action_display(), deed.what, deed.words,
                 deed.get_through_display(), deed.address)  # fmt: skip
        yield writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
