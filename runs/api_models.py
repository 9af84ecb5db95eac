"""What the HTTP API stores: tokens, what agents outside posted, and answers to requests that may come twice."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from kernels.models import Kernel


class Scope(models.TextChoices):
    """What a token may do. Whoever may submit may read too."""

    READ = "read", "read"
    SUBMIT = "submit", "read and submit"


class ApiToken(models.Model):
    """A person's key to the HTTP API. The secret is shown once; a digest of it is kept, and how it begins."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True)
    begins = models.CharField(max_length=12)
    scope = models.CharField(max_length=10, choices=Scope.choices)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    last_used = models.DateTimeField(null=True)
    revoked = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return f"token {self.name} of {self.user}"

    @property
    def state(self) -> str:
        """In one word: active, expired or revoked."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires <= timezone.now() else "active"


class Submission(models.Model):
    """A candidate that an agent outside posted to a trajectory; the order of ids is the order of their turns.

    ``answered`` is when it became an answer in the trajectory's log; it waits until then. Its attempt is the one of
    the trajectory with the same kernel. ``predicted`` is the speedup over its parent that its author expects.
    """

    trajectory = models.ForeignKey("runs.Trajectory", on_delete=models.CASCADE, related_name="submissions")
    kernel = models.ForeignKey(Kernel, on_delete=models.PROTECT, related_name="+")
    parent = models.PositiveIntegerField(null=True)
    change = models.TextField(blank=True)
    hypothesis = models.TextField(blank=True)
    predicted = models.FloatField(null=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created = models.DateTimeField(auto_now_add=True)
    answered = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["trajectory", "kernel"], name="one_submission_a_kernel")
        ]

    def __str__(self) -> str:
        return f"submission {self.pk}"


class PostedOnce(models.Model):
    """The answer to a post with an idempotency key, given again to whoever posts the same with the same key."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=100)
    request = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    answer = models.JSONField(null=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "key"], name="one_answer_a_key")]

    def __str__(self) -> str:
        return f"answer to {self.key}"
