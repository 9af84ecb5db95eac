"""What triage pages write: tricks, severities and verdicts as people read them, and addresses that keep the filters."""

from __future__ import annotations

from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from kernels.languages import Language
from mucutlass_web.templatetags.parts import icon, tag
from runs.models import Attempt, Run
from runs.triage.counts import Counts
from runs.triage.filters import NAMES, SETTLED, CaseFilters
from runs.triage.inbox import Inbox
from runs.triage.links import FlagLink, attempt_link, run_link
from runs.triage.signs import severity_word, verdict_word
from sol.audit.record import Severity
from sol.audit.tricks import Trick
from sol.audit.verdict import Verdict

register = template.Library()


@register.filter
def first_upper(text: str) -> str:
    """A sentence's first letter in upper case, the rest as it is."""
    return f"{text[:1].upper()}{text[1:]}"


@register.filter
def trick_words(trick: str) -> str:
    """What a kernel with the trick does: ``Returns its input, …``."""
    return first_upper(Trick(trick).words)


@register.filter
def cut_underscores(name: str) -> str:
    """``cache_by_pointer`` as ``cache by pointer``."""
    return name.replace("_", " ")


@register.filter
def language_name(language: str) -> str:
    """A language as people call it."""
    return Language(language).label


@register.filter
def run_name(pk: int) -> str:
    """A run by its key."""
    return f"r-{pk}"


@register.filter
def plus_one(count: int) -> int:
    """The others and this one."""
    return count + 1


@register.filter
def two(share: float) -> str:
    """A share from 0 to 1 with two decimals."""
    return f"{share:.2f}"


@register.simple_tag
def severity_tag(severity: str, boxed: bool = False, worded: bool = False) -> SafeString:
    """A severity's sign, its word beside it where there is room, for screen readers alone elsewhere."""
    word = severity_word(severity)
    if boxed or worded:
        return tag(word, boxed=boxed)
    return format_html(
        '<span class="tag {}">{}<span class="sr">{} </span></span>', word.tone, icon(word.icon), word.text
    )


@register.simple_tag
def verdict_tag(verdict: str, boxed: bool = False) -> SafeString:
    """A verdict with its sign."""
    return tag(verdict_word(verdict), boxed=boxed)


@register.simple_tag
def verdict_icon(verdict: Verdict) -> SafeString:
    """A verdict's sign in its tone."""
    word = verdict_word(verdict)
    return format_html('<span class="tag {}">{}</span>', word.tone, icon(word.icon))


@register.filter
def states(filters: CaseFilters, counts: Counts) -> list[tuple[str, int, str, bool]]:
    """Open, mine and settled: the word, how many there are in all, the query, and whether it is shown now."""
    mine = filters.having(state="", assigned="me")
    others = "" if filters.assigned == "me" else filters.assigned
    waits, settled = filters.having(state="", assigned=others), filters.having(state=SETTLED, assigned=others)
    return [
        ("Open", counts.open, waits.text, not filters.state and filters.assigned != "me"),
        ("Mine", counts.mine, mine.text, not filters.state and filters.assigned == "me"),
        ("Settled", counts.settled, settled.text, bool(filters.state)),
    ]


@register.filter
def hidden_fields(filters: CaseFilters) -> list[tuple[str, str]]:
    """The filters that are set but the text, for a form that changes that one."""
    return [(name, getattr(filters, name)) for name in NAMES if name != "q" and getattr(filters, name)]


def _with_filters(address: str, filters: CaseFilters) -> str:
    return f"{address}?{filters.text}" if filters.text else address


@register.simple_tag
def case_url(pk: int, filters: CaseFilters) -> str:
    """A case's address within the filters."""
    return _with_filters(reverse("triage-case", args=[pk]), filters)


@register.simple_tag
def act_url(name: str, pk: int, filters: CaseFilters) -> str:
    """The address of something that is done to a case, within the filters."""
    return _with_filters(reverse(name, args=[pk]), filters)


@register.simple_tag
def page_url(inbox: Inbox, step: int) -> str:
    """The inbox ``step`` pages on."""
    text = inbox.filters.text
    return f"{reverse('triage')}?{text + '&' if text else ''}page={inbox.page + step}"


@register.filter
def before(inbox: Inbox, pk: int) -> int | None:
    """The case before one."""
    return inbox.before(pk)


@register.filter
def after(inbox: Inbox, pk: int) -> int | None:
    """The case after one."""
    return inbox.after(pk)


@register.inclusion_tag("triage/flag_link.html")
def run_flags(run: Run) -> dict[str, Any]:
    """How many cases of a run's kernels wait, with the way to them; nothing where none does. One query."""
    return _link(run_link(run))


@register.inclusion_tag("triage/flag_link.html")
def attempt_flags(attempt: Attempt) -> dict[str, Any]:
    """An attempt's case, open or settled, with the way to it; nothing where it has none. One query."""
    return _link(attempt_link(attempt))


def _link(link: FlagLink | None) -> dict[str, Any]:
    severe = link is not None and link.severity == Severity.SEVERE
    return {"link": link, "severe": severe}
