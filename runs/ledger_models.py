"""The audit log: who did what. Rows are written once; nothing here changes or removes one."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.db import models


class Action(models.TextChoices):
    """What somebody did."""

    SIGNED_IN = "signed-in", "signed in"
    SIGNED_OUT = "signed-out", "signed out"
    SIGN_IN_FAILED = "sign-in-failed", "failed to sign in"
    JOINED = "joined", "joined"
    ROLE = "role", "changed a role"
    DEACTIVATED = "deactivated", "deactivated an account"
    REACTIVATED = "reactivated", "reactivated an account"
    TEAM = "team", "changed a team"
    INVITED = "invited", "made an invitation"
    UNINVITED = "uninvited", "revoked an invitation"
    TOKEN_MADE = "token-made", "made a token"
    TOKEN_REVOKED = "token-revoked", "revoked a token"
    LAUNCHED = "launched", "launched a run"
    CANCELLED = "cancelled", "cancelled a run"
    CHANGED = "changed", "changed a run"
    DELETED = "deleted", "deleted"
    IMPORTED = "imported", "imported"
    VERDICT = "verdict", "settled a flag"
    VERDICT_UNDONE = "verdict-undone", "took a verdict back"
    LESSON = "lesson", "changed a lesson"
    DRAINED = "drained", "drained a worker"
    UNDRAINED = "undrained", "ended a worker’s drain"
    WORKER_REMOVED = "worker-removed", "removed a worker"
    REQUEUED = "requeued", "queued a job again"


class Through(models.TextChoices):
    """By which way it came in."""

    PAGE = "page", "page"
    API = "api", "API"
    CLI = "cli", "command line"


class LedgerClosed(TypeError):
    """Code that tries to change what the log says."""


class _Written(models.QuerySet["Deed"]):
    """Rows to read and to add to."""

    def update(self, **_: Any) -> NoReturn:
        """Never."""
        raise LedgerClosed("the log is append-only")

    def delete(self) -> NoReturn:
        """Never."""
        raise LedgerClosed("the log is append-only")


class Deed(models.Model):
    """One thing that somebody did. ``name`` stays when an account goes; ``kind`` and ``key`` say on what.

    ``address`` is shortened: the network that a request came from, not the machine.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    name = models.CharField(max_length=150)
    action = models.CharField(max_length=20, choices=Action.choices)
    kind = models.CharField(max_length=12, blank=True)
    key = models.CharField(max_length=200, blank=True)
    what = models.CharField(max_length=200, blank=True)
    words = models.CharField(max_length=300, blank=True)
    through = models.CharField(max_length=4, choices=Through.choices)
    address = models.CharField(max_length=45, blank=True)
    at = models.DateTimeField(auto_now_add=True, db_index=True)

    objects = _Written.as_manager()

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [
            models.Index(fields=["action", "-id"], name="deeds_of_an_action"),
            models.Index(fields=["name", "-id"], name="deeds_of_a_person"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.get_action_display()} {self.what}".strip()

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add it; one that is there already stays as it is."""
        if not self._state.adding:
            raise LedgerClosed("the log is append-only")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Never."""
        raise LedgerClosed("the log is append-only")
