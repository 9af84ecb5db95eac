"""How many contenders each value of each filter would leave with the other filters as they are.

One query groups what the other filters leave by all facets at once, along an index that holds nothing else; the rest is
counting a few thousand groups here. So the figures beside the filters and the total cannot disagree.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count

from runs.browser.filters import FACETS, NOWHERE, TITLES, Asked, KernelFilters, label_of
from runs.kernel_models import Contender, Standing

_COLUMNS = ("outcome", "standing", "device", "target", "language", "kind", "owner_id")
_ALWAYS = 8
"""Values of a facet that are shown before the rest is folded."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of a filter; ``value`` is what stands in the address."""

    value: str
    label: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Group:
    """One filter: the commonest and the chosen values, then the rest."""

    name: str
    title: str
    first: tuple[Choice, ...]
    rest: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """``found`` contenders pass all filters, ``total`` there are; the filters with their values."""

    found: int
    total: int
    groups: tuple[Group, ...]


def counts(filters: KernelFilters, asked: Asked) -> Counts:
    """The figures beside the filters. Three queries; two where only facets are filtered by."""
    names = dict(User.objects.values_list("pk", "username"))
    # Rows are counted, not keys: those are not in the index that holds all the rest.
    groups = Contender.objects.filter(asked.rows).order_by().values_list(*_COLUMNS).annotate(n=Count("*"))
    order = [*(name if name != "owner_id" else "owner" for name in _COLUMNS)]
    kept: dict[str, Counter[str]] = {name: Counter() for name in FACETS}
    found = everything = 0
    chosen = {name: frozenset(values) for name, values in filters.facets.items()}
    at = {name: order.index(name) for name in chosen}
    for *values, n in groups:
        values[-1] = names.get(values[-1], "")
        everything += n
        missed = [name for name, wanted in chosen.items() if values[at[name]] not in wanted]
        if not missed:
            found += n
            for name, value in zip(order, values, strict=True):
                kept[name][value] += n
        elif len(missed) == 1:
            kept[missed[0]][values[at[missed[0]]]] += n
        # What a value would leave is told even where that is nothing.
        for name in FACETS if len(missed) > 1 else ():
            kept[name].setdefault(values[order.index(name)], 0)
    narrowed = bool(filters.without_facets)
    total = Contender.objects.count() if narrowed else everything
    return Counts(found, total, tuple(_group(name, kept[name], filters) for name in FACETS if kept[name]))


def _group(name: str, kept: Counter[str], filters: KernelFilters) -> Group:
    chosen = filters.facets.get(name, ())
    for value in chosen:
        kept.setdefault(value, 0)
    if name == "standing":
        order = [str(value) for value in Standing if value in kept]
    else:
        order = sorted(kept, key=lambda value: (-kept[value], value))
    choices = [Choice(v or NOWHERE, label_of(name, v), kept[v], v in chosen) for v in order]
    most = len(choices) if name in ("standing", "outcome") or len(choices) <= _ALWAYS + 1 else _ALWAYS
    first = [c for index, c in enumerate(choices) if index < most or c.chosen]
    return Group(name, TITLES[name], tuple(first), tuple(c for c in choices if c not in first))
