"""One line of an archive as a row's values, or why it is none. Nothing of it is taken on trust."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import models

from kernels.records import from_json
from runs.archive.columns import checked_form, from_form
from runs.archive.kinds import Kind

Keys = dict[str, set[Any]]
"""The keys that were read, by kind."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A row to be. ``values`` are columns by attribute, ``refs`` keys of other records by column, ``people`` names.

    ``file`` is the member with its text or its report; empty without one.
    """

    key: Any
    values: dict[str, Any]
    refs: dict[str, Any]
    people: dict[str, str]
    file: str


def parse(kind: Kind, line: bytes) -> Parsed:
    """The record of a line, its JSON columns read as their records too. Raises ValueError."""
    form = _object(line)
    _check_fields(kind, form)
    values = {}
    for field in kind.columns:
        if field.name in form:
            value = values[field.attname] = from_form(field, form[field.name])
            if value is not None and field.name in kind.records:
                _check_record(field.name, value, kind.records[field.name])
    refs = {name: _ref(kind, name, form[name]) for name in kind.refs}
    people = {field.name: _name(field.name, form.get(field.name)) for field in kind.people}
    return Parsed(_key(kind, form), values, refs, people, _name("file", _beside(kind, form)))


def parse_again(kind: Kind, line: bytes) -> Parsed:
    """The record of a line that ``parse`` took before; several times as fast."""
    form = json.loads(line)
    values = {one.attname: checked_form(one, form[one.name]) for one in kind.columns if one.name in form}
    refs = {name: form[name] for name in kind.refs}
    people = {field.name: form.get(field.name) or "" for field in kind.people}
    return Parsed(_key(kind, form), values, refs, people, _beside(kind, form) or "")


def _key(kind: Kind, form: dict[str, Any]) -> Any:
    return form["id"] if kind.key == "id" else form[kind.key]


def _beside(kind: Kind, form: dict[str, Any]) -> Any:
    """The member with its text, or with its report."""
    return form.get("file") if kind.text else (form.get("report") if kind.name == "profiles" else None)


def _object(line: bytes) -> dict[str, Any]:
    try:
        form = json.loads(line)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is no JSON ({error})") from None
    if not isinstance(form, dict):
        raise ValueError("it is no JSON object")
    return form


@cache
def _names(kind_name: str) -> tuple[frozenset[str], frozenset[str]]:
    """The fields that a record must have, and those that it may have besides: what has a default or may be null."""
    from runs.archive.kinds import BY_NAME

    kind = BY_NAME[kind_name]
    must, may = set(kind.refs), {field.name for field in kind.people}
    for field in kind.columns:
        (may if field.null or field.has_default() else must).add(field.name)
    if kind.key == "id":
        must.add("id")
    if kind.text:
        must.add("file")
    if kind.name == "profiles":
        may.add("report")
    return frozenset(must), frozenset(may)


def _check_fields(kind: Kind, form: dict[str, Any]) -> None:
    must, may = _names(kind.name)
    lacking, unknown = must - form.keys(), form.keys() - must - may
    if lacking:
        raise ValueError(f"it lacks {', '.join(sorted(lacking))}")
    if unknown:
        raise ValueError(f"it has {', '.join(sorted(unknown))[:80]}, which this version does not know")


def _check_record(name: str, form: Any, wanted: Any) -> None:
    try:
        from_json(form, wanted)
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None
    except Exception as error:  # whatever a record's own checks raise, it cannot be shown
        raise ValueError(f"{name} does not parse ({_first(error)})") from error


def _first(error: BaseException) -> str:
    """The innermost cause in one line."""
    while getattr(error, "exceptions", None):
        error = error.exceptions[0]  # type: ignore[attr-defined]
    return f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"


def _ref(kind: Kind, name: str, form: Any) -> Any:
    if form is None:
        field = kind.model._meta.get_field(name)
        if isinstance(field, models.ForeignKey | models.OneToOneField) and not field.null:
            raise ValueError(f"{name} is missing")
        return None
    if isinstance(form, bool) or not isinstance(form, int | str):
        raise ValueError(f"{name} is no key")
    return form


def _name(what: str, form: Any) -> str:
    if form is None:
        return ""
    if not isinstance(form, str) or len(form) > 200 or "\0" in form:
        raise ValueError(f"{what} is no name")
    return form
