"""The inbox: cases that pass the filters, gathered by trick and problem, gravest first, fifty gatherings a page.

The order is total and made of stored columns alone, so that pages and the next case are the same for everybody until
a case changes. One light query reads it; rows are fetched for the page that is shown.
"""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property

from django.contrib.auth.models import User

from runs.triage.filters import CaseFilters
from sol.audit.record import Severity
from sol.models import Case, Flag

PAGE = 50
MOST = 10_000
"""Cases that one inbox reads; beyond them it says so."""


@dataclass(slots=True)
class Gathering:
    """Cases of one trick on one problem, the most harmful first."""

    trick: str
    problem_id: int
    members: list[int] = field(default_factory=list)

    @property
    def leader(self) -> int:
        """The case that stands for it."""
        return self.members[0]


@dataclass
class InboxRow:
    """One gathering as it is listed. ``said`` is what its leader's gravest flag saw."""

    case: Case
    count: int
    said: str
    current: bool = False


class Inbox:
    """What passes the filters. ``number`` is the page, from 1; without one it is the page of ``current``."""

    def __init__(
        self, filters: CaseFilters, user: User, current: int | None = None, number: str | None = None
    ) -> None:
        self.filters, self.current = filters, current
        light = filters.cases(user).values_list("pk", "trick", "problem_id")[: MOST + 1]
        self.cut = False
        self._rank: dict[int, int] = {}
        gathered: dict[tuple[str, int], Gathering] = {}
        for at, (pk, trick, problem_id) in enumerate(light):
            if at == MOST:
                self.cut = True
                break
            self._rank[pk] = at
            gathered.setdefault((trick, problem_id), Gathering(trick, problem_id)).members.append(pk)
        self.gatherings = list(gathered.values())
        self._asked = number

    def without(self, gone: Collection[int], current: int | None) -> Inbox:
        """What is left when some cases went, with another one shown. No query."""
        left = copy(self)
        for name in ("order", "_places", "_at", "page", "rows"):
            left.__dict__.pop(name, None)
        kept = (
            Gathering(g.trick, g.problem_id, [pk for pk in g.members if pk not in gone]) for g in self.gatherings
        )
        left.gatherings = sorted((g for g in kept if g.members), key=lambda g: self._rank[g.leader])
        left.current, left._asked = current, None
        return left

    @cached_property
    def order(self) -> list[int]:
        """All cases, gathering after gathering."""
        return [pk for one in self.gatherings for pk in one.members]

    @cached_property
    def _places(self) -> dict[int, int]:
        return {pk: place for place, pk in enumerate(self.order)}

    @cached_property
    def _at(self) -> int | None:
        """The gathering that the current case is in."""
        if self.current not in self._places:
            return None
        return next(at for at, one in enumerate(self.gatherings) if self.current in one.members)

    @property
    def total(self) -> int:
        """Cases that pass."""
        return len(self.order)

    @property
    def place(self) -> int | None:
        """Where the current case stands, from 1."""
        return None if self.current not in self._places else self._places[self.current] + 1

    @property
    def gathered(self) -> list[int]:
        """The cases of the current one's gathering, with it."""
        return self.gatherings[self._at].members if self._at is not None else []

    def after(self, pk: int, gone: Collection[int] = ()) -> int | None:
        """The next case after one, without those in ``gone``; the last has none."""
        start = self._places.get(pk, -1) + 1
        return next((one for one in self.order[start:] if one not in gone), None)

    def before(self, pk: int) -> int | None:
        """The case before one."""
        place = self._places.get(pk, 0)
        return self.order[place - 1] if place else None

    # --- pages ----------------------------------------------------------------------------------

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, -(-len(self.gatherings) // PAGE))

    @cached_property
    def page(self) -> int:
        """The page shown: the one asked for, else the current case's."""
        asked = self._asked or ""
        if asked.isascii() and asked.isdigit() and len(asked) < 9:
            return min(max(1, int(asked)), self.pages)
        return 1 if self._at is None else self._at // PAGE + 1

    @property
    def _shown(self) -> list[Gathering]:
        return self.gatherings[(self.page - 1) * PAGE : self.page * PAGE]

    @property
    def shown_cases(self) -> int:
        """Cases in the gatherings of this page."""
        return sum(len(one.members) for one in self._shown)

    @property
    def first(self) -> int | None:
        """The case at the head of this page."""
        return self._shown[0].leader if self._shown else None

    @cached_property
    def rows(self) -> list[InboxRow]:
        """The page's gatherings. Two queries."""
        leaders = [one.leader for one in self._shown]
        found = Case.objects.filter(pk__in=leaders).select_related("kernel", "problem").defer(
            "sketch", "kernel__source", "problem__source", "problem__summary"
        )  # fmt: skip
        cases, said = {case.pk: case for case in found}, _said(leaders)
        return [
            InboxRow(cases[one.leader], len(one.members), said.get(one.leader, ""), self.current in one.members)
            for one in self._shown
            if one.leader in cases
        ]


def _said(cases: list[int]) -> dict[int, str]:
    """What the gravest flag of each case saw."""
    found: dict[int, tuple[tuple[int, float], str]] = {}
    rows = Flag.objects.filter(case__in=cases).values_list("case_id", "severity", "confidence", "evidence")
    for pk, severity, confidence, evidence in rows.order_by("pk"):
        gravity = (Severity(severity).rank, confidence)
        if pk not in found or gravity > found[pk][0]:
            found[pk] = (gravity, str(evidence.get("words", "")))
    return {pk: words for pk, (_, words) in found.items()}
