"""What pages need to know of runs that are exported, imported or deleted."""

from __future__ import annotations

from django import template
from django.contrib.auth.models import User

from runs import access
from runs.models import Run
from runs.roles import Right, may
from runs.states import FINAL

register = template.Library()


@register.filter
def has_ended(run: Run) -> bool:
    """Whether a run can be exported: nothing of it changes any more."""
    return run.state in FINAL


@register.filter
def deletable_by(run: Run, user: User) -> bool:
    """Whether a person may delete a run as it stands."""
    return run.state in FINAL and access.may_delete(user, run)


@register.filter
def may_import(user: User) -> bool:
    """Whether a person may import runs."""
    return may(user, Right.LAUNCH)
