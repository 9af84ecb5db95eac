"""The check of feedback as its page shows it: for each tool how often it was raised, followed, and right.

Sums over rows in two queries, whatever their number. A hit is a candidate that followed a tool's advice and was faster
than its parent by more than an improvement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Avg, Count, Q, QuerySet
from django.http import QueryDict

from agent.feedback import TITLES
from kernels.targets import Target
from runs.models import Followed, Raised

PAGE = 50
_Z = 1.959964
"""Of the normal distribution, for 95 percent."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Two shares, 0 to 1."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Their distance."""
        return self.high - self.low


def wilson(hits: int, count: int) -> Interval | None:
    """The 95 percent interval of a share by E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical
    Inference" (1927); None of nothing."""
    if count == 0:
        return None
    share, square = hits / count, _Z * _Z
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = _Z / (1 + square / count) * math.sqrt(share * (1 - share) / count + square / (4 * count * count))
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool. ``gain`` is the geomean over parents of those that followed it and have a time (``timed`` of them),
    ``hit_gain`` of the hits alone; both None where there is none."""

    tool: str
    raised: int
    followed: int
    hits: int
    timed: int
    gain: float | None
    hit_gain: float | None

    @property
    def title(self) -> str:
        """Its name for people; a tool that is no longer there keeps its own."""
        return TITLES.get(self.tool, self.tool)

    @property
    def rate(self) -> float | None:
        """Hits of those that followed, 0 to 1; None where nobody did."""
        return self.hits / self.followed if self.followed else None

    @property
    def interval(self) -> Interval | None:
        """Where the rate lies with 95 percent."""
        return wilson(self.hits, self.followed)

    @property
    def why_none(self) -> str:
        """Why there is no rate and no gain."""
        if not self.followed:
            return "nobody followed it yet"
        return "none of those that followed has a time beside its parent’s"


@dataclass(frozen=True, slots=True)
class FeedbackFilter:
    """Which target's rows count; empty for all."""

    target: str = ""

    @classmethod
    def of(cls, get: QueryDict) -> FeedbackFilter:
        """The filter in the address; what it does not know is passed over."""
        asked = get.get("target", "")
        return cls(asked if asked in set(Target) else "")

    @property
    def raised(self) -> Q:
        """For rows of Raised: those of this installation."""
        return Q(elsewhere=False, target=self.target) if self.target else Q(elsewhere=False)

    @property
    def followed(self) -> Q:
        """For rows of Followed."""
        here = Q(raised__elsewhere=False)
        return here & Q(raised__target=self.target) if self.target else here


def tool_rows(chosen: FeedbackFilter) -> list[ToolRow]:
    """Every tool that was raised, those most followed first. Two queries."""
    raised = Raised.objects.filter(chosen.raised).order_by().values_list("tool").annotate(n=Count("id"))
    sums = {
        entry["raised__tool"]: entry
        for entry in Followed.objects.filter(chosen.followed)
        .order_by()
        .values("raised__tool")
        .annotate(
            n=Count("id"),
            hits=Count("id", filter=Q(improved=True)),
            timed=Count("log_gain"),
            mean=Avg("log_gain"),
            hit_mean=Avg("log_gain", filter=Q(improved=True)),
        )
    }
    rows = [_row(tool, count, sums.get(tool)) for tool, count in raised]
    return sorted(rows, key=lambda row: (-row.followed, -row.raised, row.tool))


def _row(tool: str, raised: int, sums: Mapping[str, Any] | None) -> ToolRow:
    if sums is None:
        return ToolRow(tool, raised, 0, 0, 0, None, None)
    mean, hit_mean = (None if sums[name] is None else math.exp(sums[name]) for name in ("mean", "hit_mean"))
    return ToolRow(tool, raised, sums["n"], sums["hits"], sums["timed"], mean, hit_mean)


def targets_raised() -> list[str]:
    """The targets that any tool was raised on."""
    return list(
        Raised.objects.filter(elsewhere=False).order_by("target").values_list("target", flat=True).distinct()
    )


def followings(tool: str, chosen: FeedbackFilter, number: str | None) -> Page[Followed]:
    """One page of those that followed a tool, the newest first, each with its parent."""
    return Paginator(_followings().filter(chosen.followed, raised__tool=tool), PAGE).get_page(number)


def _followings() -> QuerySet[Followed]:
    related = ("attempt__trajectory__run", "attempt__trajectory__problem", "raised__attempt")
    return Followed.objects.select_related(*related).defer(
        "attempt__trajectory__bounds",
        "attempt__trajectory__seed_program",
        "attempt__trajectory__problem__source",
        "attempt__trajectory__problem__summary",
    )
