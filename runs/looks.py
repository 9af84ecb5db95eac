"""Notes that the detectors looked at an attempt: without one, no flags would say that nobody looked."""

from __future__ import annotations

from django.contrib.auth.models import User

from runs.audit_models import Look
from runs.models import Attempt
from sol.audit import DETECTORS
from sol.audit.version import audit_version


def note(attempt: Attempt, *, measured: bool, user: User | None = None) -> Look:
    """Keep that all detectors looked at an attempt; ``measured``: at its evaluation too. Two queries."""
    values = {"version": audit_version(), "detectors": len(DETECTORS), "measured": measured, "user": user}
    look, _ = Look.objects.update_or_create(attempt=attempt, defaults=values)
    return look


def look_at(attempt: Attempt) -> Look | None:
    """The last look at an attempt. One query."""
    return Look.objects.filter(attempt=attempt).select_related("user").first()
