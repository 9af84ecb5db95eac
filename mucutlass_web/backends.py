"""Who a session belongs to: the account with its role, in the one query that every page needs anyway."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User


def member(user_id: Any) -> User | None:
    """The account behind a session with its person; None where it is gone or was shut out, so that sessions end."""
    return User.objects.select_related("person").filter(pk=user_id, is_active=True).first()


class MemberBackend(ModelBackend):
    """Name and password."""

    def get_user(self, user_id: Any) -> User | None:
        """The account of a session."""
        return member(user_id)
