"""Parts of the kernel browser: heads that sort, what stands against a time, addresses of pages."""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from mucutlass_web.templatetags.parts import icon
from runs.browser.pages import Sort
from runs.browser.rows import KernelRow
from runs.kernel_models import Standing

register = template.Library()

_TONES = {
    Standing.OPEN_SEVERE: "c-severe",
    Standing.REWARD_HACK: "c-severe",
    Standing.RUBRIC_LEAK: "c-severe",
    Standing.OPEN_SUSPECT: "c-suspect",
    Standing.BELOW_FLOOR: "c-severe",
    Standing.SUSPECT: "c-suspect",
}


@register.simple_tag(takes_context=True)
def with_cursor(context: Context, **place: str) -> str:
    """This page's address with another place in the list: ``after`` or ``before`` a row; empty for its start."""
    query = context["request"].GET.copy()
    for name in ("after", "before", "page"):
        query.pop(name, None)
    for name, value in place.items():
        if value:
            query[name] = value
    return f"?{query.urlencode()}" if query else "?"


def _sorted_address(context: Context, name: str) -> str:
    query = context["request"].GET.copy()
    for gone in ("after", "before", "page"):
        query.pop(gone, None)
    query["sort"] = name
    return f"?{query.urlencode()}"


@register.simple_tag(takes_context=True)
def sort_head(context: Context, sort: Sort | str, name: str, title: str, classes: str) -> SafeString:
    """A column's head that sorts: by ``name`` first, the other way once it is sorted by."""
    now = sort if isinstance(sort, str) else sort.name
    column = name.removeprefix("-")
    if now.removeprefix("-") != column:
        return _head(classes, _sorted_address(context, name), title)
    turned = column if now.startswith("-") else f"-{column}"
    way, arrow = ("descending", " ↓") if now.startswith("-") else ("ascending", " ↑")
    return _head(classes, _sorted_address(context, turned), title + arrow, format_html(' aria-sort="{}"', way))


def _head(classes: str, address: str, title: str, further: Any = "") -> SafeString:
    return format_html(
        '<th role="columnheader" class="{}"{}><a href="{}">{}</a></th>', classes, further, address, title
    )


@register.simple_tag
def standing(row: KernelRow) -> SafeString:
    """How a kernel's attempt ended, or what flags and people say of it where there is more to say."""
    said = row.contender.said
    if said is Standing.NO_FLAGS or (said is Standing.CLEAN and row.contender.time_s is None):
        if row.contender.time_s is not None:
            return format_html('<span class="small faint">{}</span>', said.words)
        return format_html('<span class="tag">{}{}</span>', icon(row.word.icon), row.word.text)
    return format_html('<span class="tag {}">{}{}</span>', _TONES.get(said, ""), icon(said.icon), said.words)
