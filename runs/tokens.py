"""Keys to the HTTP API: making one, finding whose it is, taking it back. Only digests of secrets are kept."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from runs import figures, ledger
from runs.errors import TokenExpired, TokenRevoked, TokenUnknown
from runs.ledger_models import Action
from runs.models import ApiToken

PREFIX = "mu_"
"""How every token begins, so that scanners for leaked keys can know one."""

DAYS = (1, 7, 30, 90, 365)
"""For how long a token may be good."""

_SHOWN = 8
_NOTE_USE_AFTER = timedelta(minutes=1)


def digest_of(secret: str) -> str:
    """SHA-256 of a token; its secret is random enough to need nothing slower."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def make(user: User, name: str, scope: str, days: int) -> tuple[ApiToken, str]:
    """A new token and its secret, which cannot be had again."""
    secret = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        row = ApiToken.objects.create(
            user=user,
            name=name,
            digest=digest_of(secret),
            begins=secret[:_SHOWN],
            scope=scope,
            expires=timezone.now() + timedelta(days=days),
        )
        said = f"{row.get_scope_display()}, {figures.counted(days, 'day')}"
        ledger.record(user, Action.TOKEN_MADE, row, said, what=f"token {name}")
    return row, secret


def holder(secret: str) -> ApiToken:
    """The token of that secret, its person with it. Raises TokenUnknown, TokenRevoked and TokenExpired."""
    row = (
        ApiToken.objects.select_related("user__person")
        .filter(digest=digest_of(secret), user__is_active=True)
        .first()
    )
    if row is None:
        raise TokenUnknown()
    if row.revoked is not None:
        raise TokenRevoked(name=row.name)
    now = timezone.now()
    if row.expires <= now:
        raise TokenExpired(name=row.name, when=f"{row.expires:%Y-%m-%d %H:%M} UTC")
    if row.last_used is None or now - row.last_used > _NOTE_USE_AFTER:
        ApiToken.objects.filter(pk=row.pk).update(last_used=now)
    return row


def revoke(user: User, pk: int, by: User | None = None) -> bool:
    """Take one of a person's tokens back for good; False where there is none that still stands."""
    with transaction.atomic():
        row = ApiToken.objects.filter(pk=pk, user=user, revoked=None).first()
        if row is None or not ApiToken.objects.filter(pk=pk, revoked=None).update(revoked=timezone.now()):
            return False
        whose = "" if by is None or by == user else f"of {user.get_username()}"
        ledger.record(by or user, Action.TOKEN_REVOKED, row, whose, what=f"token {row.name}")
    return True
