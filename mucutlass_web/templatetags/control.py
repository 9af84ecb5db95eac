"""What people did to runs, for the pages that tell it."""

from __future__ import annotations

from django import template

from runs import change_words
from runs.control_models import RunChange

register = template.Library()


@register.filter
def change_who(change: RunChange) -> str:
    """Who changed a run."""
    return change_words.who(change)


@register.filter
def change_said(change: RunChange) -> str:
    """What somebody did to a run, after their name."""
    return change_words.words_of(change)
