"""Roles and what each may do: a viewer looks, a runner launches, a reviewer settles, an admin runs the place.

Each role has the rights of those before it. A run's owner has rights over it that no role gives: see ``access``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django.core.exceptions import PermissionDenied


class Role(StrEnum):
    """From the fewest rights to the most."""

    VIEWER = "viewer"
    RUNNER = "runner"
    REVIEWER = "reviewer"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """0 for a viewer, 3 for an admin."""
        return list(Role).index(self)

    @property
    def sentence(self) -> str:
        """What it may do, for people who give it."""
        return _SENTENCES[self]


_SENTENCES = {
    Role.VIEWER: "looks at everything and comments",
    Role.RUNNER: "launches runs and changes their own",
    Role.REVIEWER: "settles flags and marks kernels as reviewed",
    Role.ADMIN: "changes any run, people, teams and the fleet",
}


class Right(StrEnum):
    """What somebody may do beyond looking, with the least role that has it."""

    LAUNCH = "launch"
    REVIEW = "review"
    ADMINISTER = "administer"

    @property
    def least(self) -> Role:
        """The least role that has it."""
        return _LEAST[self]

    @property
    def words(self) -> str:
        """After "to"."""
        return _WORDS[self]


_LEAST = {Right.LAUNCH: Role.RUNNER, Right.REVIEW: Role.REVIEWER, Right.ADMINISTER: Role.ADMIN}
_WORDS = {
    Right.LAUNCH: "launch runs and measure kernels",
    Right.REVIEW: "settle flags and review kernels",
    Right.ADMINISTER: "manage people, runs of others and the fleet",
}


def role_of(user: Any) -> Role:
    """A signed-in account's role; staff are admins, one without a row is a runner."""
    if user.is_superuser or user.is_staff:
        return Role.ADMIN
    person = getattr(user, "person", None)
    return Role(person.role) if person is not None else Role.RUNNER


def may(user: Any, right: Right) -> bool:
    """Whether an account has a right; nobody who is not signed in has any."""
    return bool(user.is_authenticated) and role_of(user).rank >= right.least.rank


def require(user: Any, right: Right) -> None:
    """Raise PermissionDenied, in words, where the account has not the right."""
    if not may(user, right):
        role = role_of(user).value if user.is_authenticated else "visitor"
        raise PermissionDenied(f"It takes the role {right.least.value} to {right.words}; yours is {role}.")
