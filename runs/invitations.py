"""Invitations: a link that makes an account with a role, or gives an account that role and a team.

The secret is shown once, to who made the link; a digest of it is kept. Each use is counted by one conditional update,
so that of two who press at the same time only as many come in as the link lets.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from runs import figures, ledger, people
from runs.ledger_models import Action
from runs.people_errors import (
    InvitationExpired,
    InvitationRevoked,
    InvitationUnfit,
    InvitationUnknown,
    InvitationUsed,
)
from runs.people_models import Invitation, Person, Team
from runs.roles import Role, role_of

DAYS = (1, 7, 30)
"""For how long a link may be good."""
MOST_USES = 100
_SHOWN = 6


def digest_of(secret: str) -> str:
    """SHA-256 of a link's secret, which is random enough to need nothing slower."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def make(by: User, role: str, team: Team | None, days: int, most: int) -> tuple[Invitation, str]:
    """A new invitation and its secret, which cannot be had again. Raises UnknownRole and InvitationUnfit."""
    wanted = people.role_named(role)
    if days not in DAYS:
        raise InvitationUnfit(what="the time", given=days, right=f"one of {', '.join(map(str, DAYS))} days")
    if not 1 <= most <= MOST_USES:
        raise InvitationUnfit(what="the number of uses", given=most, right=f"1 to {MOST_USES}")
    secret = secrets.token_urlsafe(24)
    with transaction.atomic():
        row = Invitation.objects.create(
            digest=digest_of(secret),
            begins=secret[:_SHOWN],
            role=wanted.value,
            team=team,
            most=most,
            made_by=by,
            expires=timezone.now() + timedelta(days=days),
        )
        where = f" in {team.name}" if team is not None else ""
        ledger.record(by, Action.INVITED, row, f"{figures.counted(most, wanted.value)}{where}, {days} days")
    return row, secret


def revoke(invitation: Invitation, by: User) -> bool:
    """Take a link back; whether it still stood."""
    with transaction.atomic():
        standing = Invitation.objects.filter(pk=invitation.pk, revoked=None)
        done = bool(standing.update(revoked=timezone.now()))
        if done:
            ledger.record(by, Action.UNINVITED, invitation)
    return done


def opened(secret: str) -> Invitation:
    """The invitation of a link that still lets somebody in. Raises what is wrong with it."""
    row = Invitation.objects.select_related("team", "made_by").filter(digest=digest_of(secret)).first()
    if row is None:
        raise InvitationUnknown()
    if row.state == "revoked":
        raise InvitationRevoked()
    if row.state == "used":
        raise InvitationUsed(times="once" if row.most == 1 else f"{row.most} times, as often as it may be")
    if row.state == "expired":
        raise InvitationExpired(when=f"{row.expires:%Y-%m-%d %H:%M} UTC")
    return row


def _use_up(secret: str) -> Invitation:
    row = opened(secret)
    still = Invitation.objects.filter(pk=row.pk, revoked=None, expires__gt=timezone.now(), used__lt=F("most"))
    if not still.update(used=F("used") + 1):
        opened(secret)
        raise InvitationUsed(times="in this moment by somebody else")
    return row


@transaction.atomic
def join(secret: str, name: str, password: str) -> User:
    """Make the account that a link is for. The name and password must be valid; raises what is wrong with the link."""
    row = _use_up(secret)
    user: User = User.objects.create_user(name, password=password)
    Person.objects.create(user=user, role=row.role)
    _bring_in(row, user)
    return user


@transaction.atomic
def accept(secret: str, user: User) -> None:
    """Give an account what a link offers: its team, and its role where that is more. Raises what is wrong with it.

    Who has both already, by this link or otherwise, uses nothing up.
    """
    known = Invitation.objects.filter(digest=digest_of(secret)).first()
    if known is not None and _has_all(known, user):
        return
    row = _use_up(secret)
    if Role(row.role).rank > role_of(user).rank:
        people.set_role(user, Role(row.role), row.made_by)
    _bring_in(row, user)


def _has_all(row: Invitation, user: User) -> bool:
    in_team = row.team_id is None or user.teams.filter(pk=row.team_id).exists()
    return in_team and Role(row.role).rank <= role_of(user).rank


def _bring_in(row: Invitation, user: User) -> None:
    if row.team is not None:
        row.team.members.add(user)
    where = f", team {row.team.name}" if row.team is not None else ""
    ledger.record(user, Action.JOINED, user, f"by invitation {row.begins}…: {row.role}{where}")
