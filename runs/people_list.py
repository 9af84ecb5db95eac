"""People and teams as pages ask for them: a page of fifty, each list in a fixed number of queries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import Avg, Case, Count, F, FloatField, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce, Exp, Greatest, Ln
from django.utils import timezone

from runs.api_models import ApiToken
from runs.models import Run, Trajectory
from runs.people_models import Team
from runs.queries import PAGE
from runs.roles import Role
from runs.states import FINAL

_NOBODY_SEES = Q(is_superuser=True) | Q(is_staff=True)
_ROLE = Case(
    When(_NOBODY_SEES, then=Value(Role.ADMIN.value)),
    default=Coalesce(F("person__role"), Value(Role.RUNNER.value)),
)
"""``roles.role_of`` as the database reads it."""


@dataclass(frozen=True, slots=True)
class PeopleFilters:
    """What the address asks for: a part of a name, a role, a team, and whether who was shut out is listed.

    ``by_email``: whether the text is looked for in addresses too, which only admins see.
    """

    text: str = ""
    role: str = ""
    team: int = 0
    gone: bool = False
    by_email: bool = False

    @classmethod
    def of(cls, get: Any, *, by_email: bool = False) -> PeopleFilters:
        """From the address; what is unknown filters nothing."""
        role, team = get.get("role", ""), get.get("team", "")
        return cls(
            text=get.get("q", "").replace("\0", "").strip()[:150],
            role=role if role in list(Role) else "",
            team=number_of(team),
            gone=get.get("gone") == "1",
            by_email=by_email,
        )

    def __bool__(self) -> bool:
        return bool(self.text or self.role or self.team or self.gone)


def number_of(text: str) -> int:
    """A row's number in an address; 0 where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def people(filters: PeopleFilters) -> QuerySet[User]:
    """Accounts by name with ``role_word``, ``runs_count``, ``tokens_count`` and ``seen_at``."""
    return _told(_named(filters)).order_by("username")


def accounts() -> QuerySet[User]:
    """All accounts, those too that were shut out, told as ``people`` tells them."""
    return _told(User.objects.annotate(role_word=_ROLE))


def _told(found: QuerySet[User]) -> QuerySet[User]:
    found = found.select_related("person").prefetch_related("teams").annotate(seen_at=_SEEN)
    return found.annotate(runs_count=_count(Run, "owner"), tokens_count=_tokens())


_SEEN = Coalesce(Greatest("person__seen", "last_login"), "person__seen", "last_login")


def _count(model: Any, column: str) -> Any:
    rows = model.objects.filter(**{column: OuterRef("pk")}).order_by().values(column)
    return Coalesce(Subquery(rows.annotate(n=Count("pk")).values("n")), 0)


def _tokens() -> Any:
    rows = ApiToken.objects.filter(user=OuterRef("pk"), revoked=None, expires__gt=timezone.now())
    return Coalesce(Subquery(rows.order_by().values("user").annotate(n=Count("pk")).values("n")), 0)


def _named(filters: PeopleFilters) -> QuerySet[User]:
    found = User.objects.filter(is_active=not filters.gone).annotate(role_word=_ROLE)
    if filters.text:
        named = Q(username__icontains=filters.text)
        found = found.filter(named | Q(email__icontains=filters.text) if filters.by_email else named)
    if filters.team:
        found = found.filter(teams=filters.team)
    return found.filter(role_word=filters.role) if filters.role else found


def people_page(filters: PeopleFilters, number: str | None) -> Page[User]:
    """One page of accounts. Three queries with their teams."""
    return Paginator(people(filters), PAGE).get_page(number)


def role_counts(filters: PeopleFilters) -> list[tuple[str, int]]:
    """How many accounts have each role, with the other filters as they are. One query."""
    others = replace(filters, role="")
    found = _named(others).order_by().values("role_word").annotate(n=Count("pk"))  # type: ignore[misc]  # annotated
    counts = {row["role_word"]: row["n"] for row in found}
    return [(role.value, counts.get(role.value, 0)) for role in Role]


def teams() -> QuerySet[Team]:
    """Teams by name with ``size``, how many active people are in each."""
    return Team.objects.annotate(size=Count("members", filter=Q(members__is_active=True)))


@dataclass(frozen=True, slots=True)
class TeamFigures:
    """What a team did, over all its members' runs. ``gap`` counts a problem without a passing kernel at its baseline;
    None until one passed."""

    runs: int
    live: int
    attempts: int
    problems: int
    passing: int
    gap: float | None

    @property
    def why_none(self) -> str:
        """Why there is no gap."""
        return "no passing kernel yet" if self.problems else "nothing was run yet"


def figures_of(team: Team) -> TeamFigures:
    """A team's figures. Two queries."""
    runs = Run.objects.filter(owner__teams=team)
    counts = runs.aggregate(every=Count("pk"), live=Count("pk", filter=~Q(state__in=FINAL)))
    rows = Trajectory.objects.filter(run__owner__teams=team)
    time_s = Coalesce("best_s", "eager_s", output_field=FloatField())
    bounded = Q(sol_s__gt=0) & (Q(best_s__gt=0) | Q(best_s=None, eager_s__gt=0))
    found = rows.aggregate(
        attempts=Coalesce(Sum("attempts_done"), 0),
        problems=Count("pk"),
        passing=Count("pk", filter=Q(best_s__isnull=False)),
        gap=Exp(Avg(Ln(time_s / F("sol_s")), filter=bounded)),
    )
    gap = found["gap"] if found["passing"] else None
    return TeamFigures(counts["every"], counts["live"], found["attempts"], found["problems"], found["passing"], gap)
