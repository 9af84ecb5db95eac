"""What admins do to people and teams: roles, shutting somebody out and letting them in again, who works with whom."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from runs import ledger
from runs.api_models import ApiToken
from runs.ledger_models import Action
from runs.people_errors import LastAdmin, TeamNameTaken, TeamNameUnfit, UnknownRole
from runs.people_models import Invitation, Person, Team
from runs.roles import Role, role_of

MOST_NAME = 60
_ADMIN = Q(is_superuser=True) | Q(is_staff=True) | Q(person__role=Role.ADMIN.value)


def admins() -> QuerySet[User]:
    """Active accounts with the role admin."""
    return User.objects.filter(_ADMIN, is_active=True)


def role_named(name: str) -> Role:
    """A role by its name. Raises UnknownRole."""
    if name not in list(Role):
        raise UnknownRole(role=name[:40], right=", ".join(Role))
    return Role(name)


def _keep_one_admin(user: User) -> None:
    """Raise LastAdmin where nobody else is one. All admins' rows are held, so that two cannot go at the same time."""
    list(User.objects.select_for_update(of=("self",)).filter(_ADMIN, is_active=True).order_by("pk"))
    # Asked anew: who waited for the rows has them with the roles of before the wait.
    if admins().filter(pk=user.pk).exists() and not admins().exclude(pk=user.pk).exists():
        raise LastAdmin(name=user.get_username())


def note_sign_in(user: User) -> None:
    """Make sure that an account has its row, with the role that it has without one."""
    Person.objects.get_or_create(user=user, defaults={"role": role_of(user).value, "seen": timezone.now()})


def set_role(user: User, role: Role, by: User | None) -> bool:
    """Give somebody a role; whether it was another one. Raises LastAdmin."""
    with transaction.atomic():
        row = User.objects.select_related("person").get(pk=user.pk)
        before = role_of(row)
        if before is role:
            return False
        if before is Role.ADMIN:
            _keep_one_admin(row)
        Person.objects.update_or_create(user=row, defaults={"role": role.value})
        if role is not Role.ADMIN:
            # Django's own marks make an admin of anybody: they go with the role.
            User.objects.filter(pk=row.pk).update(is_staff=False, is_superuser=False)
        if before is Role.ADMIN:
            _take_back_invitations(row, by or row)
        ledger.record(by or row, Action.ROLE, row, f"{before.value} to {role.value}")
    return True


def deactivate(user: User, by: User) -> None:
    """Shut somebody out: sessions, links and tokens end at once, their open invitations too. Raises LastAdmin."""
    with transaction.atomic():
        _keep_one_admin(user)
        if not User.objects.filter(pk=user.pk, is_active=True).update(is_active=False):
            return
        ApiToken.objects.filter(user=user, revoked=None).update(revoked=timezone.now())
        _end_sessions(user)
        _take_back_invitations(user, by)
        ledger.record(by, Action.DEACTIVATED, user)


def reactivate(user: User, by: User) -> None:
    """Let somebody in again; their old sessions and tokens stay ended."""
    with transaction.atomic():
        if User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
            ledger.record(by, Action.REACTIVATED, user)


def _take_back_invitations(user: User, by: User) -> None:
    """Revoke the open links that somebody made: they would let them in again."""
    now = timezone.now()
    for row in Invitation.objects.filter(made_by=user, revoked=None, expires__gt=now, used__lt=F("most")):
        Invitation.objects.filter(pk=row.pk).update(revoked=now)
        ledger.record(by, Action.UNINVITED, row)


def _end_sessions(user: User) -> None:
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        if session.get_decoded().get("_auth_user_id") == str(user.pk):
            session.delete()


def team_name(text: str, besides: Team | None = None) -> str:
    """A name that a team may have. Raises TeamNameUnfit and TeamNameTaken."""
    name = " ".join(text.replace("\0", "").split())
    if not 0 < len(name) <= MOST_NAME:
        raise TeamNameUnfit(length=len(name), most=MOST_NAME)
    others = Team.objects.filter(name__iexact=name)
    if others.exclude(pk=besides.pk if besides is not None else 0).exists():
        raise TeamNameTaken(name=name)
    return name


def make_team(text: str, by: User) -> Team:
    """A new team with nobody in it. Raises TeamNameUnfit and TeamNameTaken."""
    with transaction.atomic():
        team = Team.objects.create(name=team_name(text))
        ledger.record(by, Action.TEAM, team, "made")
    return team


def rename_team(team: Team, text: str, by: User) -> None:
    """Give a team another name. Raises TeamNameUnfit and TeamNameTaken."""
    with transaction.atomic():
        name = team_name(text, team)
        if Team.objects.filter(pk=team.pk).exclude(name=name).update(name=name):
            ledger.record(by, Action.TEAM, team, f"renamed to {name}")


def delete_team(team: Team, by: User) -> None:
    """End a team; its people and their runs stay."""
    with transaction.atomic():
        ledger.record(by, Action.DELETED, what=f"team {team.name}")
        team.delete()


def add_member(team: Team, user: User, by: User) -> None:
    """Put somebody into a team; twice does nothing."""
    with transaction.atomic():
        if not team.members.filter(pk=user.pk).exists():
            team.members.add(user)
            ledger.record(by, Action.TEAM, team, f"{user.get_username()} came in")


def drop_member(team: Team, user: User, by: User) -> None:
    """Take somebody out of a team; twice does nothing."""
    with transaction.atomic():
        if team.members.filter(pk=user.pk).exists():
            team.members.remove(user)
            ledger.record(by, Action.TEAM, team, f"{user.get_username()} went out")
