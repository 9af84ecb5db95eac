"""The JSON object in a text that may hold other things too: a fence, a sentence before it, a model's thoughts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from agent.errors import AnswerUnfit
from agent.llm.errors import AnswerNotJson, AnswerNotObject, CallError

Accept: TypeAlias = Callable[[dict[str, Any]], None]
"""Raises AnswerUnfit or a CallError where an object is no answer to what was asked."""

_THOUGHT = re.compile(r"^\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n(.*?)\n?```", re.DOTALL)
_TRIES = 200
"""So many places where an object could begin are looked at; a hostile text has millions."""
_FAR = 2**18
"""An object that does not begin within so many characters is not looked for."""


def found_json(text: str, accept: Accept) -> dict[str, Any]:
    """The first object of the text that ``accept`` takes: it raises where an object does not fit.

    Raises AnswerNotJson where there is no object at all, and what ``accept`` said of the first where it takes none.
    """
    first: AnswerUnfit | CallError | None = None
    problem = ""
    for source in _sources(_THOUGHT.sub("", text, count=1)):
        try:
            value = _decode(source)
            if not isinstance(value, dict):
                raise AnswerNotObject(found=type(value).__name__)
            accept(value)
        except ValueError as error:
            problem = problem or str(error)
        except (AnswerUnfit, CallError) as error:
            first = first or error
        else:
            return value
    raise first or AnswerNotJson(problem=problem or "it has no opening brace")


def _sources(text: str) -> Iterator[str]:
    """Where to look, the most certain first: the whole text, what stands in fences, from each brace on."""
    if text.lstrip().startswith(("{", "[")):
        yield text.strip()
    for found in _FENCE.finditer(text):
        if found[1].lstrip().startswith("{"):
            yield found[1].strip()
    at = -1
    for _ in range(_TRIES):
        at = text.find("{", at + 1, _FAR)
        if at < 0:
            return
        yield text[at:]


def _decode(source: str) -> Any:
    """The value at the text's beginning; what follows it is not looked at. Raises ValueError."""
    try:
        value, _ = _DECODER.raw_decode(source)
        return _storable(value)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _storable(value: Any) -> Any:
    """The value with U+FFFD for what no database column holds: NUL, and halves of surrogate pairs."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if isinstance(value, list):
        return [_storable(entry) for entry in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(entry) for key, entry in value.items()}
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


# strict=False: models write line ends into strings as they are.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_constant)
