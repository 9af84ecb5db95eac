"""People beside their accounts: the role that says what each may do, teams, and invitations by link."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from kernels.models import choices
from runs.roles import Role


class Person(models.Model):
    """One account's role and when it was last seen. An account without a row has ``roles.role_of``'s answer."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="person")
    role = models.CharField(max_length=10, choices=choices(Role), default=Role.RUNNER.value)
    seen = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.user.get_username()}: {self.role}"


class Team(models.Model):
    """People who work together. A run belongs to the teams of its owner."""

    name = models.CharField(max_length=60, unique=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="teams")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name


class Invitation(models.Model):
    """A link that lets ``most`` people in with a role. Only a digest of its secret is kept, and how it begins."""

    digest = models.CharField(max_length=64, unique=True)
    begins = models.CharField(max_length=8)
    role = models.CharField(max_length=10, choices=choices(Role), default=Role.RUNNER.value)
    team = models.ForeignKey(Team, on_delete=models.SET_NULL, null=True, related_name="invitations")
    most = models.PositiveSmallIntegerField(default=1)
    used = models.PositiveSmallIntegerField(default=0)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    revoked = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return f"invitation {self.begins}…"

    @property
    def state(self) -> str:
        """In one word: open, revoked, used or expired."""
        if self.revoked is not None:
            return "revoked"
        if self.used >= self.most:
            return "used"
        return "expired" if self.expires <= timezone.now() else "open"
