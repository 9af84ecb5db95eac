"""What a reviewer filters the inbox by, as it stands in the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef, Q, QuerySet

from kernels.languages import Language
from runs.models import Attempt
from sol.audit.record import Severity
from sol.audit.tricks import Trick
from sol.audit.verdict import Verdict
from sol.models import Case, Flag

OPEN, SETTLED = "open", "settled"
NAMES = ("q", "severity", "trick", "detector", "problem", "run", "language", "assigned", "state")
"""Parameters of the address, in the order in which they are written."""

TITLES = {"q": "kernel", "run": "run", "state": "state"}


@dataclass(frozen=True, slots=True)
class CaseFilters:
    """An empty text filters nothing; an empty ``state`` is open. ``assigned``: me, nobody or an account's name."""

    q: str = ""
    severity: str = ""
    trick: str = ""
    detector: str = ""
    problem: str = ""
    run: str = ""
    language: str = ""
    assigned: str = ""
    state: str = ""

    @classmethod
    def of(cls, get: Mapping[str, Any]) -> CaseFilters:
        """The filters in an address; values that cannot be are passed over."""
        given = {name: str(get.get(name, "")).replace("\0", "").strip()[:200] for name in NAMES}
        run = given["run"].removeprefix("r-")
        known: dict[str, tuple[str, ...]] = {
            "severity": tuple(Severity), "trick": tuple(Trick), "language": tuple(Language),
            "state": (SETTLED, *Verdict),
        }  # fmt: skip
        for name, values in known.items():
            given[name] = given[name] if given[name] in values else ""
        given["run"] = run if run.isascii() and run.isdigit() and len(run) < 19 else ""
        return cls(**given)

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in NAMES)

    @property
    def text(self) -> str:
        """The address's query, without a question mark; empty where nothing is filtered."""
        return urlencode([(name, getattr(self, name)) for name in NAMES if getattr(self, name)])

    def having(self, **changes: str) -> CaseFilters:
        """These filters with some of them changed."""
        return replace(self, **changes)

    @property
    def chips(self) -> list[tuple[str, str]]:
        """Each filter that is set but the state, in words, with the query that is left without it."""
        found = []
        for name in NAMES:
            value = getattr(self, name)
            if value and name != "state":
                found.append((f"{TITLES.get(name, name)} {words_of(name, value)}", self.having(**{name: ""}).text))
        return found

    @property
    def words(self) -> list[str]:
        """The filters as a reader would say them."""
        return [words for words, _ in self.chips]

    def cases(self, user: User) -> QuerySet[Case]:
        """The cases that pass, in the order of the inbox. ``user`` is who "me" is."""
        return self._in_state(Case.objects.all()).filter(self._query(user)).order_by("-rank", "-harm", "pk")

    def everywhere(self, user: User) -> QuerySet[Case]:
        """The cases that pass all filters but the state."""
        return Case.objects.filter(self._query(user)).order_by()

    def _in_state(self, rows: QuerySet[Case]) -> QuerySet[Case]:
        if not self.state:
            return rows.filter(verdict="", rank__gt=0)
        return rows.exclude(verdict="") if self.state == SETTLED else rows.filter(verdict=self.state)

    def _query(self, user: User) -> Q:
        query = Q()
        for name in ("severity", "trick"):
            if getattr(self, name):
                query &= Q(**{name: getattr(self, name)})
        if self.problem:
            query &= Q(problem__slug=self.problem)
        if self.language:
            query &= Q(kernel__language=self.language)
        if self.q:
            query &= _named(self.q)
        if self.detector:
            query &= Q(Exists(Flag.objects.filter(case=OuterRef("pk"), detector=self.detector)))
        if self.run:
            tried = Attempt.objects.filter(
                kernel=OuterRef("kernel"), trajectory__problem=OuterRef("problem"), trajectory__run_id=int(self.run)
            )
            query &= Q(Exists(tried))
        return query & _given_to(self.assigned, user)


def _named(text: str) -> Q:
    """A kernel's name (``k-`` and digits of its digest) or a problem's."""
    digest = text.lower().removeprefix("k-")
    return Q(kernel__digest__startswith=digest) | Q(problem__name__icontains=text) | Q(problem__slug__iexact=text)


def _given_to(assigned: str, user: User) -> Q:
    if not assigned:
        return Q()
    if assigned == "me":
        return Q(assigned=user)
    return Q(assigned=None) if assigned == "nobody" else Q(assigned__username=assigned)


def words_of(name: str, value: str) -> str:
    """A filter's value as people read it."""
    if name == "language":
        return Language(value).label
    if name == "run":
        return f"r-{value}"
    return value if name in ("q", "problem", "detector", "assigned") else value.replace("_", " ")
