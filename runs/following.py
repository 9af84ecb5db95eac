"""What this room does when a case of the room below changes."""

from __future__ import annotations

from typing import Any

from runs.holding import reassess
from sol.models import Case
from sol.signals import cases_changed


def follow() -> None:
    """Connect once, when the application is ready."""
    cases_changed.connect(_on_cases_changed, dispatch_uid="runs.following")


def _on_cases_changed(cases: list[Case], **_: Any) -> None:
    reassess(cases)
