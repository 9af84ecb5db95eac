"""The values of each filter with how many cases it would leave, the others as they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, F, QuerySet

from runs.triage.filters import SETTLED, CaseFilters, words_of
from sol.audit.record import Severity
from sol.audit.tricks import Trick
from sol.audit.verdict import Verdict
from sol.models import Case

MOST = 60
"""Values that one filter offers: those with the most cases, and the chosen one."""

_TITLES = {
    "severity": "Severity", "trick": "Trick", "detector": "Detector", "problem": "Problem", "run": "Run",
    "language": "Language", "assigned": "Assigned to", "state": "State",
}  # fmt: skip
_COLUMNS = {
    "severity": "severity", "trick": "trick", "detector": "raised__detector", "problem": "problem__slug",
    "run": "kernel__attempts__trajectory__run_id", "language": "kernel__language",
    "assigned": "assigned__username",
}  # fmt: skip


_PLAIN = ("severity", "trick", "problem", "language", "assigned")
"""Filters of which a case has one value."""

_NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a filter."""

    value: str
    label: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """One filter with its values."""

    name: str
    title: str
    options: tuple[Option, ...]


def facets(filters: CaseFilters, user: User) -> list[Facet]:
    """All filters but the text, in the order in which a reviewer narrows down. Five queries, and one more for each
    value that is chosen."""
    together = [name for name in _PLAIN if not getattr(filters, name)]
    counted = _together(together, filters.cases(user).order_by())
    found = []
    for name in _COLUMNS:
        if name not in counted:
            counted[name] = _alone(name, filters.having(**{name: ""}).cases(user).order_by())
        found.append(_facet(name, counted[name], getattr(filters, name), user))
    return [*found, _states(filters, user)]


def _together(names: list[str], rows: QuerySet[Case]) -> dict[str, Counter[str]]:
    """Counts by several columns of the same cases, read once."""
    found: dict[str, Counter[str]] = {name: Counter() for name in names}
    columns = [_COLUMNS[name] for name in names]
    for *values, count in rows.values_list(*columns).annotate(n=Count("pk")).order_by() if columns else ():
        for name, value in zip(names, values, strict=True):
            found[name][_NOBODY if value is None else str(value)] += count
    return found


def _alone(name: str, rows: QuerySet[Case]) -> Counter[str]:
    if name == "run":
        rows = rows.filter(kernel__attempts__trajectory__problem=F("problem"))
    counted = rows.values_list(_COLUMNS[name]).annotate(n=Count("pk", distinct=name not in _PLAIN)).order_by()
    return Counter({_NOBODY if value is None else str(value): count for value, count in counted})


def _facet(name: str, counted: Counter[str], chosen: str, user: User) -> Facet:
    if name == "assigned":
        mine = counted.pop(user.get_username(), 0)
        counted = Counter({"me": mine, _NOBODY: counted.pop(_NOBODY, 0), **counted})
    kept = dict(_ordered(name, counted)[:MOST])
    if chosen and chosen not in kept:
        kept[chosen] = counted.get(chosen, 0)
    return Facet(name, _TITLES[name], tuple(Option(v, _label(name, v), n, v == chosen) for v, n in kept.items()))


def _ordered(name: str, counted: dict[str, int]) -> list[tuple[str, int]]:
    if name == "severity":
        return sorted(counted.items(), key=lambda one: -Severity(one[0]).rank)
    if name == "assigned":
        return list(counted.items())
    if name == "run":
        return sorted(counted.items(), key=lambda one: -int(one[0]))
    return sorted(counted.items(), key=lambda one: (-one[1], one[0]))


def _label(name: str, value: str) -> str:
    if name == "trick":
        return f"{Trick(value).number} {words_of(name, value)}"
    return words_of(name, value)


def _states(filters: CaseFilters, user: User) -> Facet:
    """Open, settled and each verdict; open is the empty value, which filters nothing else."""
    anywhere = filters.everywhere(user)
    counted = dict(anywhere.values_list("verdict").annotate(n=Count("pk")).order_by())
    waits = anywhere.filter(verdict="", rank__gt=0).count()
    settled = sum(count for verdict, count in counted.items() if verdict)
    options = [Option("", "open", waits, not filters.state)]
    options.append(Option(SETTLED, SETTLED, settled, filters.state == SETTLED))
    options += [Option(v, v.words, counted.get(v.value, 0), filters.state == v) for v in Verdict]
    return Facet("state", _TITLES["state"], tuple(options))
