"""One-time sign-in links. The secret is shown once, to whoever made the link; a digest of it is kept."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from mucutlass_web.models import SignInLink


def digest_of(secret: str) -> str:
    """SHA-256 of a link's secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def make_link(user: User, hours: float = 1) -> str:
    """Make a link that signs ``user`` in once within ``hours``; gives its path."""
    secret = secrets.token_urlsafe(24)
    expires = timezone.now() + timedelta(hours=hours)
    SignInLink.objects.create(user=user, digest=digest_of(secret), expires=expires)
    return reverse("enter", args=[secret])


def usable(secret: str) -> SignInLink | None:
    """The link with this secret, where it still opens: not used, not expired, its person still active."""
    return (
        SignInLink.objects.select_related("user")
        .filter(digest=digest_of(secret), used=None, expires__gt=timezone.now(), user__is_active=True)
        .first()
    )


def consume(secret: str) -> User | None:
    """Use the link up. The conditional update lets one of two simultaneous presses through."""
    link = usable(secret)
    if link is None or not SignInLink.objects.filter(pk=link.pk, used=None).update(used=timezone.now()):
        return None
    user: User = link.user
    return user
