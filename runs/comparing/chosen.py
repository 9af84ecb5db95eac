"""What is still chosen when a comparison cannot be made: each with its name, so that nothing has to be found again."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.http import QueryDict
from django.urls import reverse

from runs.access import get_runs_for
from runs.comparing.asked import CANDIDATES, LEAST, MOST, RUNS, Kind, numbers_of
from runs.models import Attempt

_SHOWN = 60
"""An address holds no more of them than a person chooses."""


@dataclass(frozen=True, slots=True)
class One:
    """One that is there: its number, its name and its page."""

    key: int
    name: str
    address: str


@dataclass(frozen=True, slots=True)
class Still:
    """All of one kind that were named: those that are there, and those that are not."""

    kind: Kind
    there: tuple[One, ...]
    gone: tuple[str, ...]

    @property
    def can_be_compared(self) -> bool:
        """Whether what is there makes a comparison."""
        return LEAST <= len(self.there) <= MOST

    @property
    def address(self) -> str:
        """The comparison of what is there."""
        return "?" + "&".join(f"{self.kind.key}={one.key}" for one in self.there)


def chosen_still(user: User, query: QueryDict) -> list[Still]:
    """Everything that the address names, candidates first. Two queries at most."""
    found = []
    for kind in (CANDIDATES, RUNS):
        keys, strange = numbers_of(query, kind)
        if keys or strange:
            known = _candidates(keys[:_SHOWN]) if kind is CANDIDATES else _runs(user, keys[:_SHOWN])
            there = tuple(known[key] for key in keys if key in known)
            gone = tuple(str(key) for key in keys[:_SHOWN] if key not in known)
            found.append(Still(kind, there, (*gone, *(text[:40] for text in strange[:_SHOWN]))))
    return found


def _candidates(keys: list[int]) -> dict[int, One]:
    rows = Attempt.objects.filter(pk__in=keys).values_list(
        "pk", "number", "trajectory__run_id", "trajectory__problem__slug", "trajectory__problem__name"
    )
    return {
        key: One(key, f"{slug} {name} #{number} of r-{run}", reverse("candidate", args=[run, slug, number]))
        for key, number, run, slug, name in rows
    }


def _runs(user: User, keys: list[int]) -> dict[int, One]:
    return {
        key: One(key, f"{run} {run.title}", reverse("run", args=[key]))
        for key, run in get_runs_for(user, keys).items()
    }
