"""Frozen dataclasses to JSON and back: one codec for the database, the archive, the API and the command line.

JSON has no NaN and no infinity; both travel as strings, so that a reader in any language can parse a record.
Unknown keys are refused: a record written by a newer version must not be read as if it were complete. A record that
an older version wrote is brought up to date by its class's ``modern_form``, where the class has one. One of several
classes is told by its ``kind``: each carries one of its own, and a form without a known one is refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from cattrs import Converter
from cattrs.gen import make_dict_structure_fn
from cattrs.preconf.json import configure_converter

T = TypeVar("T")

JSON = Any
"""What ``json.loads`` gives: None, bool, int, float, str, list or dict."""

_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _float_to_json(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _float_from_json(value: Any, _: type) -> float:
    if isinstance(value, str):
        if value not in _NOT_FINITE:
            raise ValueError(f"{value!r} is no number; NaN, Infinity and -Infinity are the only words for one")
        return _NOT_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def _modernising(kind: Any) -> Callable[[Any, Any], Any]:
    """Structures ``kind`` from its form of any version."""
    structure = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True)
    return lambda form, _: structure(kind.modern_form(form), kind)


def _members(kind: Any) -> tuple[Any, ...]:
    """The records of a union of two or more, and () for any other type."""
    members = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
    return members if len(members) > 1 and all(is_dataclass(member) for member in members) else ()


def _by_tag(union: Any) -> Callable[[Any, Any], Any]:
    """Structures the member of ``union`` that the form's ``kind`` names. The library's own guess goes by which fields
    are there, in no fixed order, and old forms lack some."""
    tags: dict[str, Any] = {
        str(field.default): member for member in _members(union) for field in fields(member) if field.name == "kind"
    }
    if len(tags) != len(_members(union)):
        raise TypeError(f"the records of {union} need a field `kind` each, with a default of its own")

    def structure(form: Any, _: Any) -> Any:
        if not isinstance(form, Mapping) or form.get("kind") not in tags:
            found = form.get("kind") if isinstance(form, Mapping) else form
            raise ValueError(f"{found!r} is no kind of record here; the kinds are {', '.join(sorted(tags))}")
        return converter.structure(form, tags[form["kind"]])

    return structure


def _make_converter() -> Converter:
    converter = Converter(forbid_extra_keys=True, omit_if_default=False)
    configure_converter(converter)
    converter.register_unstructure_hook(float, _float_to_json)
    converter.register_structure_hook(float, _float_from_json)
    converter.register_structure_hook_factory(lambda kind: hasattr(kind, "modern_form"), _modernising)
    converter.register_structure_hook_factory(lambda kind: bool(_members(kind)), _by_tag)
    return converter


converter = _make_converter()


def to_json(record: Any) -> JSON:
    """The JSON form (plain dicts, lists, strings, numbers) of a record."""
    return json.loads(json.dumps(converter.unstructure(record), allow_nan=False))


def from_json(form: Mapping[str, Any] | list[Any], kind: type[T]) -> T:
    """The record of type ``kind``; raises cattrs' ClassValidationError naming each field that is off."""
    return converter.structure(form, kind)


def dumps(record: Any) -> str:
    """One line of JSON."""
    return json.dumps(to_json(record), separators=(",", ":"), ensure_ascii=False)


def loads(text: str | bytes, kind: type[T]) -> T:
    """The record of type ``kind`` written by ``dumps``."""
    return from_json(json.loads(text), kind)
