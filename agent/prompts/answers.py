"""A model's answer, already decoded from JSON, as candidates and data; what does not fit is refused by name.

Everything in it is somebody else's: lengths are limited here, before anything is checked, compiled or stored. Whether
a program is legal is the checker's to say. Properties that the schema does not name are ignored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent.errors import NoProgram, ProgramTooLong, TooManyStages, WrongSchema
from agent.phases import Phase, phase_of
from agent.prompts.schemas import BOTTLENECKS
from agent.prompts.text import inline
from agent.steps import Ask, Candidate, TrajectorySettings
from kernels.errors import UserError
from kernels.languages import Language, check_text

MOST_BYTES = 200_000
"""Of one program."""
MOST_STAGES = 1_000
"""Of one μCUTLASS program; the largest of our problems has some hundreds."""
MOST_CHANGE, MOST_HYPOTHESIS, MOST_LESSON = 200, 1_000, 400
"""Characters that are kept of what a model says about its program."""
_MOST_SENTENCE, _MOST_LISTED, _MOST_HYPOTHESES = 1_000, 8, 12
_TOOL = re.compile(r"[A-Za-z0-9_. -]{1,60}")
_FENCED = re.compile(r"\A\s*```[\w+-]*[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parts:
    """What goes into an ``Answered``: its candidates and its data."""

    candidates: tuple[Candidate, ...] = ()
    data: dict[str, Any] | None = None


def parse(settings: TrajectorySettings, ask: Ask, data: object) -> Parts:
    """The answer to ``ask``. Raises a subclass of AnswerUnfit, which says where and what would be right.

    Of more candidates or hypotheses than were asked for the first ones are taken. ``data`` is made of plain values
    and holds what the schema names.
    """
    answer = _object(data, "answer")
    match phase_of(ask):
        case Phase.ANALYZE:
            return Parts(data=_analysis(answer, "answer"))
        case Phase.NOMINATE:
            return Parts(data={"hypotheses": _hypotheses(answer)})
        case Phase.SUMMARIZE:
            lesson = inline(_text(answer, "lesson", "answer"), MOST_LESSON)
            if not lesson:
                raise WrongSchema(where="answer.lesson", found="empty", right="a lesson")
            return Parts(data={"lesson": lesson, "bottleneck": _bottleneck(answer, "answer")})
        case Phase.MANTIS:
            return Parts(_candidates(settings, ask, answer), _workflow(settings, answer))
        case _:
            return Parts(_candidates(settings, ask, answer))


def _candidates(settings: TrajectorySettings, ask: Ask, answer: dict[str, Any]) -> tuple[Candidate, ...]:
    listed = _list(answer, "candidates", "answer")
    if not listed:
        raise WrongSchema(where="answer.candidates", found="empty", right=f"{ask.count} candidates")
    return tuple(
        _candidate(settings, ask, entry, f"candidate {index + 1}")
        for index, entry in enumerate(listed[: ask.count])
    )


def _candidate(settings: TrajectorySettings, ask: Ask, entry: object, where: str) -> Candidate:
    made = _object(entry, where)
    tool = _optional(made, "tool", where, _text) or ""
    return Candidate(
        text=_program(_text(made, "text", where), settings.representation, where),
        parent=ask.parent,
        change=inline(_text(made, "change", where), MOST_CHANGE),
        hypothesis=inline(_text(made, "hypothesis", where), MOST_HYPOTHESIS),
        language=settings.representation,
        predicted=_optional(made, "predicted", where, _positive),
        tool=tool if _TOOL.fullmatch(tool) else "",
    )


def _program(text: str, language: Language, where: str) -> str:
    """The program, without a Markdown fence that is the only thing around it."""
    # Every character is a byte at least, so nothing longer need be looked at.
    size = len(text) if len(text) > MOST_BYTES else len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        raise ProgramTooLong(where=where, found=size, limit=MOST_BYTES)
    fenced = _FENCED.match(text)
    text = fenced[1] + "\n" if fenced is not None else text
    try:
        check_text(text, MOST_BYTES)
    except UserError as error:
        wrong, right = error.fields["wrong"], error.fields["right"]
        raise NoProgram(where=where, wrong=wrong, right=right) from None
    if language is Language.MU:
        stages = _statements(text)
        if stages > MOST_STAGES:
            raise TooManyStages(where=where, found=stages, limit=MOST_STAGES)
    return text


_STATEMENT = re.compile(r"#[^\n]*|[()\[\]]|[^\W\d]\w*\s*=(?!=)")


def _statements(text: str) -> int:
    """How many names are given a value outside of brackets, as the language reads it."""
    depth = count = 0
    for found in _STATEMENT.finditer(text):
        token = found[0]
        if token in ("(", "["):
            depth += 1
        elif token in (")", "]"):
            depth -= 1
        elif depth <= 0 and not token.startswith("#"):
            count += 1
    return count


def _workflow(settings: TrajectorySettings, answer: dict[str, Any]) -> dict[str, Any]:
    hypotheses = _hypotheses(answer)
    chosen = answer.get("chosen")
    if isinstance(chosen, bool) or not isinstance(chosen, int) or not 0 <= chosen < len(hypotheses):
        right = f"a whole number from 0 to {len(hypotheses) - 1}"
        raise WrongSchema(where="answer.chosen", found=inline(repr(chosen), 40), right=right)
    found = {
        "analysis": _analysis(_object(answer.get("analysis"), "answer.analysis"), "answer.analysis"),
        "hypotheses": hypotheses,
        "chosen": chosen,
    }
    if settings.memory:
        lesson = _optional(answer, "lesson", "answer", _text)
        found["lesson"] = inline(lesson, MOST_LESSON) if lesson else None
    return found


def _analysis(answer: dict[str, Any], where: str) -> dict[str, Any]:
    return {
        "bottleneck": _bottleneck(answer, where),
        "summary": inline(_text(answer, "summary", where), _MOST_SENTENCE),
        "evidence": _sentences(answer, "evidence", where),
        "opportunities": _sentences(answer, "opportunities", where),
    }


def _hypotheses(answer: dict[str, Any]) -> list[dict[str, Any]]:
    listed = _list(answer, "hypotheses", "answer")
    if not listed:
        raise WrongSchema(where="answer.hypotheses", found="empty", right="one hypothesis at least")
    return [_hypothesis(entry, f"hypothesis {index + 1}") for index, entry in enumerate(listed[:_MOST_HYPOTHESES])]


def _hypothesis(entry: object, where: str) -> dict[str, Any]:
    made = _object(entry, where)
    return {
        "change": inline(_text(made, "change", where), _MOST_SENTENCE),
        "cause": inline(_text(made, "cause", where), _MOST_SENTENCE),
        "speedup": _positive(made, "speedup", where),
        "implementation_risk": _risk(made, "implementation_risk", where),
        "performance_risk": _risk(made, "performance_risk", where),
    }


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongSchema(where=where, found=_kind(value), right="an object")
    return value


def _list(answer: dict[str, Any], name: str, where: str) -> list[Any]:
    value = answer.get(name)
    if not isinstance(value, list):
        raise WrongSchema(where=f"{where}.{name}", found=_kind(value), right="a list")
    return value


def _text(answer: dict[str, Any], name: str, where: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str):
        raise WrongSchema(where=f"{where}.{name}", found=_kind(value), right="a text")
    return value


def _sentences(answer: dict[str, Any], name: str, where: str) -> list[str]:
    listed = _list(answer, name, where)[:_MOST_LISTED]
    for index, value in enumerate(listed):
        if not isinstance(value, str):
            raise WrongSchema(where=f"{where}.{name}[{index}]", found=_kind(value), right="a text")
    return [inline(value, _MOST_SENTENCE) for value in listed]


def _bottleneck(answer: dict[str, Any], where: str) -> str:
    value = answer.get("bottleneck")
    if value not in BOTTLENECKS:
        found = inline(repr(value), 40)
        raise WrongSchema(where=f"{where}.bottleneck", found=found, right=f"one of {', '.join(BOTTLENECKS)}")
    return str(value)


def _number(answer: dict[str, Any], name: str, where: str, right: str, least: float) -> float:
    value = answer.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongSchema(where=f"{where}.{name}", found=_kind(value), right=right)
    # A whole number of a thousand digits is no float.
    number = float(value) if abs(value) < _MOST_NUMBER else math.inf
    if not least <= number < _MOST_NUMBER:
        raise WrongSchema(where=f"{where}.{name}", found=f"{number:g}", right=right)
    return number


_MOST_NUMBER = 1e6


def _positive(answer: dict[str, Any], name: str, where: str) -> float:
    return _number(answer, name, where, "a ratio above 0 and below a million", least=1 / _MOST_NUMBER)


def _risk(answer: dict[str, Any], name: str, where: str) -> float:
    return _number(answer, name, where, "a multiplier of at least 1", least=1.0)


def _optional(
    answer: dict[str, Any], name: str, where: str, read: Callable[[dict[str, Any], str, str], Any]
) -> Any:
    """None where it is null or missing."""
    return None if answer.get(name) is None else read(answer, name, where)


def _kind(value: object) -> str:
    if value is None:
        return "missing"
    return {dict: "an object", list: "a list", str: "a text", bool: "true or false"}.get(type(value), "a number")
