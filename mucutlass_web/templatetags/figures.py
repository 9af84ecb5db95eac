"""Numbers in pages: every missing one is an en dash with its reason, for eyes and for screen readers."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString

from runs import figures

register = template.Library()

NOT_MEASURED = "not measured"


def _dash(reason: str | None) -> SafeString:
    words = reason or NOT_MEASURED
    return format_html('<span class="none" title="{}">–<span class="sr"> {}</span></span>', words, words)


@register.filter
def dash(reason: str | None) -> SafeString:
    """What stands in the place of a number that is not there."""
    return _dash(reason)


def _or_dash(value: float | None, reason: str | None, text: Callable[[float], str]) -> SafeString:
    return _dash(reason) if value is None else conditional_escape(text(value))


def _cell(value: float | None, reason: str | None, text: Callable[[float], str], places: int) -> SafeString:
    """A number padded on the right so that decimal points of a column stand under each other."""
    if value is None:
        return format_html('<span class="p{}">{}</span>', min(places, 4), _dash(reason))
    words = text(value)
    behind = figures.decimals(words.rstrip("×"))
    pad = places - behind + (1 if behind == 0 and places else 0)
    return format_html('<span class="p{}">{}</span>', max(0, min(pad, 6)), words)


@register.filter
def ms(seconds: float | None, reason: str | None = None) -> SafeString:
    """0.214 ms."""
    return _or_dash(seconds, reason, figures.milliseconds_with_unit)


@register.filter
def ms_bare(seconds: float | None, reason: str | None = None) -> SafeString:
    """0.214, for a column whose head names the unit."""
    return _or_dash(seconds, reason, figures.milliseconds)


@register.filter
def ms_cell(seconds: float | None, reason: str | None = None) -> SafeString:
    """As ``ms_bare``, aligned on the decimal point."""
    return _cell(seconds, reason, figures.milliseconds, 4)


@register.filter
def times(value: float | None, reason: str | None = None) -> SafeString:
    """1.54×."""
    return _or_dash(value, reason, figures.ratio)


@register.filter
def times_cell(value: float | None, reason: str | None = None) -> SafeString:
    """As ``times``, aligned on the decimal point."""
    return _cell(value, reason, figures.ratio, 2)


@register.filter
def pct(fraction: float | None, reason: str | None = None) -> SafeString:
    """81.4 %."""
    return _or_dash(fraction, reason, figures.percent)


@register.filter
def delta(fraction: float | None) -> str:
    """−3.2 %, or nothing where there is nothing to compare with."""
    return "" if fraction is None else figures.change(fraction)


@register.filter
def span(seconds: float | None, reason: str | None = None) -> SafeString:
    """41 min."""
    return _or_dash(seconds, reason, figures.duration)


@register.filter
def money(amount: float, currency: str) -> str:
    """0.0431 USD."""
    return figures.money(amount, currency)


@register.filter
def stopwatch(seconds: float) -> str:
    """0:04."""
    return figures.stopwatch(seconds)


@register.filter
def sig(value: float | None, reason: str | None = None) -> SafeString:
    """Three significant digits; tiny and huge ones with a power of ten."""
    if value is None:
        return _dash(reason)
    if not math.isfinite(value):
        return format_html("{}", figures.significant(value))
    if value == int(value) and abs(value) < 1e6:
        return format_html("{}", f"{int(value):,}")
    if value != 0 and not 1e-3 <= abs(value) < 1e6:
        mantissa, _, exponent = f"{value:.1e}".partition("e")
        sign = figures.MINUS if exponent.startswith("-") else ""
        return format_html("{}e{}{}", mantissa.replace("-", figures.MINUS), sign, exponent.lstrip("+-0") or "0")
    return format_html("{}", figures.significant(value))


@register.filter
def scaled(value: float | None, unit: str) -> SafeString:
    """16.8 MFLOP."""
    return _or_dash(value, None, lambda number: figures.scaled(number, unit))


@register.filter
def kib(value: float | None, reason: str | None = None) -> SafeString:
    """219 KiB."""
    return _or_dash(value, reason, figures.binary)


@register.filter
def counted(count: int, words: str) -> str:
    """``3|counted:"problem"``; an irregular plural follows a comma."""
    one, _, many = words.partition(",")
    return figures.counted(count, one, many or None)


@register.filter
def when(moment: datetime | None, form: str = "minute") -> SafeString:
    """A moment as ``<time>``; a script writes it in the reader's zone. ``form``: minute, second or day."""
    if moment is None:
        return _dash("not yet")
    utc = moment.astimezone(UTC)
    text = utc.strftime({"minute": "%H:%M", "second": "%H:%M:%S", "day": "%-d %b %H:%M"}[form])
    return format_html(
        '<time datetime="{}" data-form="{}" title="{}">{}</time>',
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"),
        form,
        utc.strftime("%Y-%m-%d %H:%M:%S UTC"),
        text,
    )


@register.filter
def width(share: float) -> str:
    """A share as an SVG width."""
    return f"{share * 100:.1f}%"


@register.filter
def since_clock(moment: datetime) -> str:
    """How long ago a moment was, as 0:04."""
    return figures.stopwatch((datetime.now(UTC) - moment).total_seconds())
