"""What pages say of people: their role, and whether the reader may do something."""

from __future__ import annotations

from typing import Any

from django import template

from runs import roles
from runs.ledger_links import link_of
from runs.ledger_models import Deed

register = template.Library()


@register.filter
def may(user: Any, right: str) -> bool:
    """``request.user|may:"launch"``."""
    return roles.may(user, roles.Right(right))


@register.filter
def role(user: Any) -> str:
    """An account's role in one word."""
    return roles.role_of(user).value


@register.filter
def role_sentence(user: Any) -> str:
    """What an account's role lets it do."""
    return roles.role_of(user).sentence


@register.filter
def deed_link(deed: Deed) -> str:
    """The page of what a deed was done to; empty where there is none."""
    return link_of(deed)
