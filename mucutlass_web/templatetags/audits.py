"""Signs of audits in pages: a severity and an outcome, each with its word."""

from __future__ import annotations

from collections import Counter

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from mucutlass_web.templatetags.parts import icon, tag
from runs.audit_page import outcome_icon
from runs.board import Row
from runs.evidence import tallied
from runs.run_audit import inflation_of
from runs.triage.signs import severity_word
from sol.audit.record import Severity
from sol.gap.standing import Held

register = template.Library()


def _tag(word: str, sign: str, boxed: bool) -> SafeString:
    tone = word if word in (Severity.SEVERE, Severity.SUSPECT) else ""
    classes = " ".join(part for part in ("tag", "box" if boxed else "", tone) if part)
    return format_html('<span class="{}">{}{}</span>', classes, icon(sign), word)


@register.simple_tag
def severity_tag(severity: str, boxed: bool = False) -> SafeString:
    """A severity with its sign and hue."""
    return tag(severity_word(severity), boxed=boxed)


@register.simple_tag
def outcome_tag(outcome: str, boxed: bool = False) -> SafeString:
    """What an audit came to, with its sign and hue."""
    return _tag(str(outcome), outcome_icon(outcome), boxed)


@register.filter
def tally(severities: dict[str, int]) -> str:
    """2 severe, 1 suspect."""
    return tallied(severities)


@register.filter
def inflated(row: Row) -> float | None:
    """How many times too fast a problem would look if its held times counted."""
    return inflation_of(row)


@register.filter
def held_words(row: Row) -> list[tuple[str, int]]:
    """Why a problem's times are held, and how many."""
    found = Counter(step.held for step in row.held)
    return [(held.word, found[held.value]) for held in Held if found[held.value]]


@register.filter
def open_severe(row: Row) -> int:
    """How many of a problem's attempts have an open severe flag."""
    return sum(step.held == Held.FLAGGED for step in row.held)
