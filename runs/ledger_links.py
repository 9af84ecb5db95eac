"""Where the things that the log names are shown."""

from __future__ import annotations

from django.urls import NoReverseMatch, reverse

from runs.ledger_models import Deed

_PAGES = {"run": "run", "person": "person", "team": "team", "case": "triage-case", "lesson": "lesson"}
_LISTS = {"invitation": "invitations", "worker": "fleet", "job": "fleet"}


def link_of(deed: Deed) -> str:
    """The address of what a deed was done to; empty where it has no page. What was deleted answers 404 there."""
    try:
        if deed.kind in _PAGES:
            return reverse(_PAGES[deed.kind], args=[int(deed.key)])
        return reverse(_LISTS[deed.kind]) if deed.kind in _LISTS else ""
    except (NoReverseMatch, ValueError):
        return ""
