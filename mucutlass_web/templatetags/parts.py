"""Small parts that pages share: signs, words with a state, strips, and what the navigation shows as current."""

from __future__ import annotations

from typing import Any

from django import template
from django.forms import Form
from django.http import HttpRequest
from django.template.context import Context
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from kernels.harness.evaluation import Outcome
from mucutlass_web.templatetags.figures import dash
from runs import words as run_words
from runs.board import Board
from runs.desk import spent_words
from runs.models import Attempt, Run
from runs.roles import Right, may
from runs.talking import unseen
from runs.triage.counts import open_severe

register = template.Library()

SECTIONS = (
    ("runs-list", "Runs", "/runs/"),
    ("kernels", "Kernels", "/kernels/"),
    ("problems-list", "Problems", "/problems/"),
    ("triage", "Triage", ("/triage/", "/audit/")),
    ("lessons", "Lessons", "/lessons/"),
    ("feedback", "Feedback", "/feedback/"),
    ("playground", "Playground", "/playground/"),
    ("fleet", "Fleet", "/fleet/"),
    ("people", "People", "/people/"),
)
FOR_ADMINS = ("people",)
_SELECTED = mark_safe(" selected")
_DRAWING = (
    'width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
    "<title>{label}</title>"
)
_SPARK = "".join(
    (
        '<svg class="spark" ',
        _DRAWING,
        '<path class="sol" d="M0 {sol}H{width}"/><path class="best" d="{path}"/></svg>',
    )
)
_STRIP_HEAD = f'<svg class="gapstrip" {_DRAWING}'
_STRIP = (
    ("won_from", '<path class="won" d="M{won_from} 14H{won_to}"/>'),
    ("best", '<path class="gap" d="M{gap_from} 14H{gap_to}"/>'),
    ("sol", '<path class="sol" d="M{sol} 0V28"/>'),
    ("eager", '<path class="base" d="M{eager} 6V22"/>'),
    ("eager_over", '<path class="over" d="m{eager} 3-3-2.4v4.8z"/>'),
    ("best", '<circle class="dot" cx="{best}" cy="14" r="4"/>'),
)
"""What a strip draws, from the back to the front, each where it has the coordinate of that name."""


@register.simple_tag
def icon(name: str) -> SafeString:
    """A sign of the sprite; words carry its meaning for screen readers."""
    return format_html('<svg class="i" aria-hidden="true"><use href="#i-{}"/></svg>', name)


@register.simple_tag
def tag(word: run_words.Word, boxed: bool = False, strong: bool = False) -> SafeString:
    """A word with its sign."""
    text = format_html("<b>{}</b>", word.text) if strong else format_html("{}", word.text)
    classes = " ".join(part for part in ("tag", "box" if boxed else "", word.tone) if part)
    return format_html('<span class="{}">{}{}</span>', classes, icon(word.icon), text)


@register.filter
def run_word(run: Run) -> run_words.Word:
    """A run's state in words."""
    return run_words.of_run(run)


@register.filter
def attempt_word(attempt: Attempt) -> run_words.Word:
    """An attempt's outcome or state in words."""
    return run_words.of_attempt(attempt)


@register.filter
def brief_word(attempt: Attempt) -> run_words.Word:
    """An attempt's outcome or state where there is little room; ``line_of`` says why it is incorrect."""
    return run_words.of_attempt(attempt, brief=True)


@register.filter
def outcome_word(outcome: str) -> run_words.Word:
    """An outcome in words."""
    return run_words.of_outcome(outcome)


@register.filter
def why_no_time(attempt: Attempt) -> str:
    """Why an attempt has no time."""
    return run_words.why_no_time(attempt)


@register.simple_tag
def problem_options(board: Board, chosen: str) -> SafeString:
    """A choice for each problem of a run; hundreds of them, so they are not written by the template."""
    problems = [row.trajectory.problem for row in board.rows]
    return format_html_join(
        "",
        '<option value="{0}"{1}>{0} {2}</option>',
        ((p.slug, _SELECTED if p.slug == chosen else "", p.name) for p in problems),
    )


@register.filter
def own_speedup(attempt: Attempt) -> float | None:
    """Eager over the attempt, both from the same call."""
    return attempt.speedup


@register.filter
def label_of(form: Form, name: str) -> str:
    """A field's label as it stands in a sentence."""
    label = str(form.fields[name].label)
    return label[0].lower() + label[1:]


@register.filter
def reason_of(attempt: Attempt) -> str:
    """What went wrong, or why it should have helped."""
    return (_wrong(attempt) or attempt.hypothesis)[:240]


@register.filter
def line_of(attempt: Attempt) -> str:
    """An attempt in one line: what went wrong, else what was changed and why."""
    reason = attempt.incorrect_reason
    parts = (reason.words if reason else "", _wrong(attempt))
    if not any(parts):
        parts = (attempt.change, attempt.hypothesis)
    return ": ".join(part for part in parts if part)[:240]


def _wrong(attempt: Attempt) -> str:
    """The first line of what went wrong, without the reason that stands beside it as the outcome."""
    lines = attempt.detail.splitlines() if attempt.outcome != Outcome.PASSED else []
    reason = attempt.incorrect_reason
    return lines[0].removeprefix(f"{reason.words}: " if reason else "") if lines else ""


@register.filter
def passed(outcome: str) -> bool:
    """Whether an outcome is a pass."""
    return outcome == Outcome.PASSED


@register.filter
def controller_name(name: str) -> str:
    """A controller as people call it."""
    return run_words.CONTROLLERS.get(name, name)


@register.filter
def spent(run: Run) -> str:
    """What a run's model calls took so far; empty where none is asked."""
    return spent_words(run)


@register.filter
def proposer_name(name: str) -> str:
    """A proposer as people call it; a model by its own name."""
    return run_words.proposer_name(name)


@register.filter
def lookup(mapping: dict[str, Any], key: str) -> Any:
    """A dictionary's value."""
    return mapping.get(key)


@register.filter
def sentence(text: str) -> str:
    """A text with a full stop, so that the next sentence can follow it."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


@register.filter
def shape(extents: Any) -> str:
    """[1024, 8192]."""
    return f"[{', '.join(str(extent) for extent in extents)}]"


@register.filter
def html_line(line: str) -> SafeString:
    """A line that ``kernels.highlight`` has escaped already; an empty one keeps its height."""
    return mark_safe(line or "&#8203;")


@register.simple_tag
def gap_strip(strip: dict[str, Any] | None, reason: str = "not bounded yet") -> SafeString:
    """A row's gap strip. Pages have hundreds, so that no template writes it."""
    if not strip:
        return dash(reason)
    marks = [part for name, part in _STRIP if strip.get(name) is not None and strip.get(name) is not False]
    return format_html("".join((_STRIP_HEAD, *marks, "</svg>")), **strip)


@register.inclusion_tag("parts/strip_head.html")
def strip_axis(head: dict[str, Any]) -> dict[str, Any]:
    """The axis over a column of strips."""
    return {"s": head}


@register.simple_tag
def sparkline(spark: dict[str, Any] | None) -> SafeString:
    """A row's best-so-far line."""
    return format_html(_SPARK, **spark) if spark else dash("nothing measured yet")


@register.inclusion_tag("parts/nav.html", takes_context=True)
def main_nav(context: Context) -> dict[str, Any]:
    """The sections that exist, with the current one marked."""
    request: HttpRequest | None = context.get("request")
    path = request.path if request is not None else ""
    admin = request is not None and may(request.user, Right.ADMINISTER)
    shown = [section for section in SECTIONS if admin or section[0] not in FOR_ADMINS]
    sections = [(name, title, path.startswith(prefix)) for name, title, prefix in shown]
    return {"sections": sections, "severe": open_severe()}


@register.simple_tag(takes_context=True)
def unseen_mentions(context: Context) -> int:
    """Remarks that name the reader and that they have not looked at."""
    return unseen(context["request"].user)


@register.simple_tag(takes_context=True)
def with_query(context: Context, **changes: Any) -> str:
    """This page's address with some parameters changed; an empty value takes one away, and pages start anew."""
    query = context["request"].GET.copy()
    if "page" not in changes:
        query.pop("page", None)
    for name, value in changes.items():
        query.pop(name, None)
        if value not in (None, ""):
            query[name] = str(value)
    return f"?{query.urlencode()}" if query else "?"
