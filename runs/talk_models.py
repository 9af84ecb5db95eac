"""What people say about a candidate: remarks, on a line or on all of it, who is meant by them, and who reviewed it."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models


class Remark(models.Model):
    """One remark on an attempt. ``line`` is 0 for all of it; else a line of its source (``unit`` blank) or of the
    generated code of the unit of that name. One that was taken back keeps its place without its words."""

    attempt = models.ForeignKey("runs.Attempt", on_delete=models.CASCADE, related_name="remarks")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="remarks")
    unit = models.CharField(max_length=10, blank=True)
    line = models.PositiveIntegerField(default=0)
    text = models.TextField()
    created = models.DateTimeField(auto_now_add=True)
    withdrawn = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"remark {self.pk}"


class Mention(models.Model):
    """Somebody is named in a remark; ``seen`` is when they looked at their mentions since."""

    remark = models.ForeignKey(Remark, on_delete=models.CASCADE, related_name="mentions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="mentions")
    seen = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["remark", "user"], name="one_mention_a_person")]
        indexes: ClassVar = [models.Index(fields=["user", "seen"], name="mention_unseen")]

    def __str__(self) -> str:
        return f"{self.user.get_username()} in {self.remark}"


class Reviewed(models.Model):
    """A reviewer read this attempt's code and stands by it."""

    attempt = models.ForeignKey("runs.Attempt", on_delete=models.CASCADE, related_name="reviews")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="reviews")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["attempt", "user"], name="one_review_a_person")]

    def __str__(self) -> str:
        return f"{self.attempt} by {self.user.get_username()}"
