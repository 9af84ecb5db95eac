"""Columns to JSON and back. Back is strict: an archive is text that anybody may have written.

SQLite takes anything into any column, so that what a column holds is checked here: type, choices, length, range.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from django.db import connection, models

_SPAN = (-(2**63), 2**63 - 1)
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_form(value: Any) -> Any:
    """A column's value as JSON has it: times in UTC, what is no number as a word."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value


def from_form(field: models.Field[Any, Any], form: Any) -> Any:
    """A column's value from its JSON. Raises ValueError with what is wrong."""
    if form is None:
        if not field.null:
            raise ValueError(f"{field.name} is missing")
        return None
    if isinstance(field, models.JSONField):
        _check_text(field.name, form)
        return form
    value = _READERS[_kind_of(field)](field, form)
    if field.choices and value not in {key for key, _ in field.flatchoices} and not (field.blank and value == ""):
        raise ValueError(f"{field.name} is {value!r}, which this version does not know")
    return value


def checked_form(field: models.Field[Any, Any], form: Any) -> Any:
    """A column's value from JSON that ``from_form`` took before."""
    if isinstance(form, str) and isinstance(field, models.DateTimeField):
        return datetime.fromisoformat(form).astimezone(UTC)
    if isinstance(form, str) and isinstance(field, models.FloatField):
        return _NOT_FINITE[form]
    return form


def _kind_of(field: models.Field[Any, Any]) -> type:
    for kind in _READERS:
        if isinstance(field, kind):
            return kind
    raise ValueError(f"{field.name} is of a kind that no archive holds")


def _boolean(field: models.Field[Any, Any], form: Any) -> bool:
    if not isinstance(form, bool):
        raise ValueError(f"{field.name} is {_cut(form)}, neither true nor false")
    return form


def _integer(field: models.Field[Any, Any], form: Any) -> int:
    if isinstance(form, bool) or not isinstance(form, int):
        raise ValueError(f"{field.name} is {_cut(form)}, no whole number")
    kind = field.get_internal_type()
    # SQLite names no range of its own for some kinds.
    span: Any = connection.ops.integer_field_range(kind)
    low, high = (one if one is not None else edge for one, edge in zip(span, _SPAN, strict=True))
    if not (0 if "Positive" in kind else low) <= form <= high:
        raise ValueError(f"{field.name} is out of range")
    return form


def _number(field: models.Field[Any, Any], form: Any) -> float:
    if isinstance(form, str) and form in _NOT_FINITE:
        return _NOT_FINITE[form]
    if isinstance(form, bool) or not isinstance(form, int | float) or abs(form) > 1e300:
        raise ValueError(f"{field.name} is {_cut(form)}, no number")
    return float(form)


def _text(field: models.Field[Any, Any], form: Any) -> str:
    if not isinstance(form, str):
        raise ValueError(f"{field.name} is {_cut(form)}, no text")
    if field.max_length is not None and len(form) > field.max_length:
        raise ValueError(f"{field.name} has {len(form)} characters, {field.max_length} are the most")
    _check_text(field.name, form)
    return form


def _time(field: models.Field[Any, Any], form: Any) -> datetime:
    try:
        value = datetime.fromisoformat(form)
    except (TypeError, ValueError):
        raise ValueError(f"{field.name} is {_cut(form)}, no time of day") from None
    if value.tzinfo is None:
        raise ValueError(f"{field.name} names no zone")
    return value.astimezone(UTC)


def _check_text(name: str, form: Any) -> None:
    """No NUL and no half of a surrogate pair, however deep: PostgreSQL keeps neither."""
    waiting = [form]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if "\0" in one or not _encodes(one):
                raise ValueError(f"{name} holds characters that no text has")
        elif isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            waiting += one


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _cut(form: Any) -> str:
    words = repr(form)
    return words if len(words) <= 60 else f"{words[:60]}…"


_READERS: dict[type, Any] = {
    models.BooleanField: _boolean,
    models.IntegerField: _integer,
    models.FloatField: _number,
    models.DateTimeField: _time,
    models.CharField: _text,
    models.TextField: _text,
}
