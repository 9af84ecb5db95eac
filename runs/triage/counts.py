"""How many cases wait, for the head of the inbox and for the navigation of every page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Count

from sol.audit.record import Severity
from sol.models import Case
from sol.signals import cases_changed

_KEY = "triage-open-severe"
_KEPT_S = 15
"""Every page shows the count: it is asked for at most so often, and at once after a case changed here."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Cases that are open, by severity, those given to one person, and those that were settled."""

    severe: int
    suspect: int
    mine: int
    settled: int

    @property
    def open(self) -> int:
        """All that wait."""
        return self.severe + self.suspect


def counts(user: User) -> Counts:
    """What waits, and what ``user`` was given. Three queries that read indexes alone."""
    waits = Case.objects.filter(verdict="", rank__gt=0)
    by_rank = dict(waits.order_by().values_list("rank").annotate(n=Count("pk")))
    mine = Case.objects.filter(assigned=user, verdict="")
    return Counts(
        severe=by_rank.get(Severity.SEVERE.rank, 0),
        suspect=by_rank.get(Severity.SUSPECT.rank, 0),
        mine=sum(rank > 0 for rank in mine.values_list("rank", flat=True)),
        settled=Case.objects.filter(verdict__gt="").count(),
    )


def open_severe() -> int:
    """Open cases with a severe flag, as they were at most ``_KEPT_S`` seconds ago."""
    kept: int | None = cache.get(_KEY)
    if kept is None:
        kept = Case.objects.filter(verdict="", rank=Severity.SEVERE.rank).count()
        cache.set(_KEY, kept, _KEPT_S)
    return kept


def forget(**_: Any) -> None:
    """Count anew for the next page."""
    cache.delete(_KEY)


cases_changed.connect(forget, sender=Case, dispatch_uid="runs.triage.counts")
