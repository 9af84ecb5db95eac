"""What a reader of the kernel browser filters by: read from the address, said in words, asked of the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from typing import Any, Self

from django.contrib.auth.models import User
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Func, Q, QuerySet
from django.db.models.lookups import In
from django.db.models.sql.compiler import SQLCompiler
from django.http import QueryDict
from django.utils.dateparse import parse_date

from kernels.harness.evaluation import Outcome
from kernels.languages import Language
from kernels.models import Problem
from kernels.source_search import LEAST, MOST, Matches, matching
from runs import words
from runs.kernel_models import Contender, Standing

FACETS = ("standing", "outcome", "device", "target", "language", "kind", "owner")
"""Filters of which several values may be chosen, each with its count; columns of contenders, ``owner`` a name."""

TITLES = {
    "standing": "Flags and verdict",
    "outcome": "Outcome",
    "device": "Card",
    "target": "Target",
    "language": "Language",
    "kind": "Operation",
    "owner": "Owner",
}
NOWHERE = "-"
"""What stands in the address for a blank value."""


def label_of(facet: str, value: str) -> str:
    """A facet's value as it stands on the page."""
    if facet == "standing":
        return Standing(value).words
    if facet == "outcome":
        return words.of_outcome(value).text
    if facet == "language":
        return Language(value).label
    if not value:
        return {"device": "not prepared", "kind": "not known"}.get(facet, "none")
    return value.replace("_", " ") if facet == "kind" else value


_KNOWN: dict[str, frozenset[str]] = {
    "standing": frozenset(Standing),
    "outcome": frozenset(Outcome),
    "language": frozenset(Language),
}


@dataclass(frozen=True, slots=True)
class KernelFilters:
    """``text`` is searched in sources, ``problem`` in ids and names; ``run`` is a number, ``since`` a day of UTC.

    An empty text, None and a facet without values filter nothing.
    """

    text: str = ""
    problem: str = ""
    run: int | None = None
    since: datetime | None = None
    facets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, get: QueryDict) -> Self:
        """The filters in an address; what is not known there is left out."""
        facets = {}
        for name in FACETS:
            values = tuple(
                dict.fromkeys("" if value == NOWHERE else value for value in map(_plain, get.getlist(name)))
            )
            kept = tuple(value for value in values if name not in _KNOWN or value in _KNOWN[name])
            if kept:
                facets[name] = kept
        run = get.get("run", "").strip().lower().removeprefix("r-")
        return cls(
            text=_plain(get.get("q", "")).strip()[:200],
            problem=_plain(get.get("problem", "")).strip()[:200],
            run=int(run) if run.isascii() and run.isdigit() and len(run) < 19 else None,
            since=_day(get.get("since", "")),
            facets=facets,
        )

    def __bool__(self) -> bool:
        return bool(self.facets or self.text or self.problem or self.run is not None or self.since is not None)

    @property
    def without_facets(self) -> KernelFilters:
        """These filters with every facet taken away."""
        return replace(self, facets={})

    @property
    def too_short(self) -> bool:
        """Whether there is a text, and it has too few letters to be searched."""
        return 0 < len(self.text) < LEAST

    @property
    def address(self) -> QueryDict:
        """The filters as an address has them."""
        found = QueryDict(mutable=True)
        values = {"q": self.text, "problem": self.problem, "run": "" if self.run is None else f"r-{self.run}"}
        values["since"] = self.since.date().isoformat() if self.since else ""
        found.update({name: value for name, value in values.items() if value})
        for name, chosen in self.facets.items():
            found.setlist(name, [value or NOWHERE for value in chosen])
        return found

    def without(self, name: str) -> KernelFilters:
        """These filters with one of them taken away, by its name in the address."""
        if name in FACETS:
            return replace(self, facets={key: value for key, value in self.facets.items() if key != name})
        empty: dict[str, Any] = {"q": {"text": ""}, "problem": {"problem": ""}, "run": {"run": None}}
        return replace(self, **empty.get(name, {"since": None}))

    def chips(self) -> list[tuple[str, str]]:
        """Each filter in words, with the address that takes it away."""
        said = []
        if self.text:
            said.append(("q", f"source has “{self.text}”"))
        if self.problem:
            said.append(("problem", f"problem has “{self.problem}”"))
        if self.run is not None:
            said.append(("run", f"run r-{self.run}"))
        if self.since is not None:
            said.append(("since", f"since {self.since.date().isoformat()}"))
        for name, chosen in self.facets.items():
            said.append((name, " or ".join(label_of(name, value) for value in chosen)))
        return [(f"?{self.without(name).address.urlencode()}", words_) for name, words_ in said]

    def words(self) -> list[str]:
        """The filters as a reader would say them."""
        return [said for _, said in self.chips()]


def _plain(text: str) -> str:
    """Text that a database can hold."""
    return text.replace("\0", "")


def _day(text: str) -> datetime | None:
    try:
        day = parse_date(text.strip())
    except ValueError:
        return None
    return datetime.combine(day, time.min, UTC) if day is not None else None


class _Plain(Func):
    """A column as it is, but not for SQLite to choose an index by: its planner knows too little of what is common."""

    arity = 1
    template = "%(expressions)s"

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        """A plus before it."""
        return super().as_sql(compiler, connection, template="+%(expressions)s", **context)


_MANY = 20_000
"""Contenders from which a list is walked in its order until a page is full; fewer are found first and sorted then."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Filters as the database reads them: ``rows`` that are no facet's, ``facets`` by column; what was searched.

    ``timed``: whether any of them may have a time.
    """

    rows: Q
    facets: Mapping[str, tuple[Any, ...]]
    matches: Matches | None
    timed: bool

    def found(self, count: int) -> QuerySet[Contender]:
        """The contenders that pass all of them, ``count`` in number."""
        kept = Contender.objects.filter(self.rows)
        if not self.facets:
            return kept
        if count > _MANY:
            return kept.filter(*(In(_Plain(F(name)), values) for name, values in self.facets.items()))
        named = {f"{name}__in": values for name, values in self.facets.items()}
        if self.rows:
            return kept.filter(**named)
        # PostgreSQL would walk all in order and look each up; what has a limit it finds first, and this one is never
        # reached.
        return kept.filter(pk__in=Contender.objects.filter(**named).order_by().values("pk")[: 2 * _MANY])


def ask(filters: KernelFilters) -> Asked:
    """Turn filters into conditions on contenders. A query or two for each of source, problem and owner."""
    rows, matches = Q(), None
    if filters.problem:
        wanted = Problem.objects.order_by()
        for word in filters.problem.split():
            wanted = wanted.filter(Q(slug__icontains=word) | Q(name__icontains=word))
        rows &= Q(problem_id__in=list(wanted.values_list("pk", flat=True)))
    if filters.run is not None:
        rows &= Q(run_id=filters.run)
    if filters.since is not None:
        rows &= Q(at__gte=filters.since)
    if filters.text and not filters.too_short:
        matches = matching(filters.text, MOST)
        rows &= Q(kernel_id__in=matches.keys)
    facets: dict[str, tuple[Any, ...]] = {k: values for k, values in filters.facets.items() if k != "owner"}
    if "owner" in filters.facets:
        owners = User.objects.filter(username__in=filters.facets["owner"])
        facets["owner_id"] = tuple(owners.values_list("pk", flat=True))
    outcomes = filters.facets.get("outcome", (Outcome.PASSED,))
    return Asked(rows, facets, matches, timed=Outcome.PASSED in outcomes)
