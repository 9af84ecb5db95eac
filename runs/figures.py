"""Numbers as people read them: three significant digits, a thin space before the unit, a true minus.

Pure text. What was not measured has no text here: the pages draw a dash with its reason.
"""

from __future__ import annotations

import math

THIN = "\u202f"
"""A narrow no-break space: the thin space between a number and its unit."""

MINUS = "\u2212"
_SI = ("", "k", "M", "G", "T", "P")


def significant(value: float, digits: int = 3) -> str:
    """Three significant digits, whole numbers in full: 0.0431, 0.214, 11.6, 642, 1,234."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else ("∞" if value > 0 else f"{MINUS}∞")
    size = math.floor(math.log10(abs(value)))
    rounded = round(value, max(0, digits - 1 - size))
    if rounded != 0:
        size = math.floor(math.log10(abs(rounded)))
    text = f"{abs(rounded):,.{max(0, digits - 1 - size)}f}"
    return f"{MINUS}{text}" if value < 0 else text


def decimals(text: str) -> int:
    """How many digits follow the decimal point."""
    return len(text.partition(".")[2])


def ratio(value: float) -> str:
    """A multiple with at most two decimals: 0.69×, 1.54×, 13.3×, 642×; under 0.01 it says so."""
    if not math.isfinite(value):
        return significant(value)
    if 0 <= value < 0.005:
        return "<0.01×"
    text = significant(value)
    if decimals(text) > 2:
        text = f"{value:.2f}"
    return f"{text}×"


def milliseconds(seconds: float) -> str:
    """A kernel's time, in ms without the unit."""
    return significant(seconds * 1e3)


def milliseconds_with_unit(seconds: float) -> str:
    """A kernel's time with its unit: 0.214 ms."""
    return f"{milliseconds(seconds)}{THIN}ms"


def percent(fraction: float) -> str:
    """81.4 % of a fraction; 100 % and 0 % are whole."""
    value = round(fraction * 100, 6) or 0.0
    text = f"{value:.0f}" if abs(value - round(value)) < 0.05 or abs(value) >= 100 else f"{value:.1f}"
    return f"{text.replace('-', MINUS)}{THIN}%"


def change(fraction: float) -> str:
    """A signed change: −3.2 %, +0.4 %."""
    value = fraction * 100
    sign = MINUS if value < 0 else "+"
    size = abs(value)
    return f"{sign}{size:.0f}{THIN}%" if size >= 100 else f"{sign}{size:.1f}{THIN}%"


def duration(seconds: float) -> str:
    """A long time: 0.83 s, 26 s, 41 min, 1 h 52 min."""
    if seconds < 10:
        return f"{significant(seconds)}{THIN}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}{THIN}s"
    minutes = round(seconds / 60)
    if whole < 600:
        rest = whole % 60
        return f"{whole // 60}{THIN}min" + (f" {rest}{THIN}s" if rest else "")
    if minutes < 60:
        return f"{minutes}{THIN}min"
    rest = minutes % 60
    return f"{minutes // 60}{THIN}h" + (f" {rest}{THIN}min" if rest else "")


def stopwatch(seconds: float) -> str:
    """How long something has been going on: 0:04, 12:41, 1:02:07."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def scaled(value: float, unit: str) -> str:
    """A count in thousands, millions … of its unit: 16.8 MFLOP, 642 TFLOP/s, 336 MB."""
    size = abs(value)
    step = 0 if size < 1000 else min(len(_SI) - 1, int(math.log10(size) / 3 + 1e-12))
    return f"{significant(value / 1000**step)}{THIN}{_SI[step]}{unit}"


def binary(value: float) -> str:
    """Bytes of a memory that comes in powers of two: 219 KiB."""
    for unit in ("B", "KiB", "MiB"):
        if abs(value) < 1024:
            return f"{_whole_or_three(value)}{THIN}{unit}"
        value /= 1024
    return f"{_whole_or_three(value)}{THIN}GiB"


def _whole_or_three(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else significant(value)


def counted(count: int, one: str, many: str | None = None) -> str:
    """1 problem, 16 problems."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def geomean(values: list[float]) -> float | None:
    """The geometric mean; None of nothing."""
    if not values:
        return None
    return math.exp(sum(math.log(value) for value in values) / len(values))


def money(amount: float, currency: str) -> str:
    """0.0431 USD: three significant digits, cents in full from one unit on."""
    text = significant(amount) if 0 < abs(amount) < 1 else f"{amount:,.2f}"
    return f"{text}{THIN}{currency}"
