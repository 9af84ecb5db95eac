"""The JSON schema of every phase's answer. Strict: every property is required and no other is allowed.

Only what servers of structured answers commonly support: types, enumerations, descriptions. Lengths and ranges are
checked when an answer is read (``answers``).
"""

from __future__ import annotations

from typing import Any

from agent.phases import Phase
from agent.steps import TrajectorySettings

Schema = dict[str, Any]

BOTTLENECKS = ("compute", "memory", "latency", "mixed")


def schema_of(settings: TrajectorySettings, phase: Phase) -> Schema:
    """The schema of a phase's answer; with memory off the in-prompt workflow has no lesson."""
    match phase:
        case Phase.ANALYZE:
            return _object(**_ANALYSIS)
        case Phase.NOMINATE:
            return _object(hypotheses=_list(_HYPOTHESIS))
        case Phase.SUMMARIZE:
            return _object(lesson=_text("at most 400 characters"), bottleneck=_one_of(BOTTLENECKS))
        case Phase.MANTIS:
            lesson = {"lesson": _text("or null", or_null=True)} if settings.memory else {}
            return _object(
                analysis=_object(**_ANALYSIS),
                hypotheses=_list(_HYPOTHESIS),
                chosen={"type": "integer", "description": "of the hypotheses, counted from 0"},
                candidates=_list(_CANDIDATE),
                **lesson,
            )
        case _:
            return _object(candidates=_list(_CANDIDATE))


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _text(description: str = "", *, or_null: bool = False) -> Schema:
    schema: Schema = {"type": ["string", "null"] if or_null else "string"}
    return schema | ({"description": description} if description else {})


def _number(description: str, *, or_null: bool = False) -> Schema:
    return {"type": ["number", "null"] if or_null else "number", "description": description}


def _one_of(words: tuple[str, ...]) -> Schema:
    return {"type": "string", "enum": list(words)}


_CANDIDATE = _object(
    text=_text("the whole program"),
    change=_text("what is new"),
    hypothesis=_text("why it should be faster"),
    predicted=_number("expected speedup over the program started from", or_null=True),
    tool=_text("the feedback tool whose advice it follows", or_null=True),
)
_HYPOTHESIS = _object(
    change=_text(),
    cause=_text(),
    speedup=_number("S, above 0"),
    implementation_risk=_number("R_impl, at least 1"),
    performance_risk=_number("R_perf, at least 1"),
)
_ANALYSIS: dict[str, Schema] = {
    "bottleneck": _one_of(BOTTLENECKS),
    "summary": _text(),
    "evidence": _list(_text()),
    "opportunities": _list(_text()),
}
