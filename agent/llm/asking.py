"""A prompt as the body of a request, in each way in which a server may be asked for JSON, and the answer read back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agent.llm.errors import (
    AnswerBinary,
    AnswerEmpty,
    AnswerMalformed,
    AnswerRefused,
    AnswerTruncated,
)
from agent.llm.spec import GrammarField, ModelSpec, Structured

FUNCTION = "answer"
_OVERHEAD = 256
"""Tokens that a server's chat template may add to what is sent: names of roles, marks between messages."""


def body_of(
    spec: ModelSpec,
    messages: list[dict[str, Any]],
    schema: dict[str, Any],
    structured: Structured,
    *,
    grammar: str = "",
    tools: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """The body for ``messages``. A ``grammar`` takes the schema's place; ``tools`` may be called before the answer."""
    body: dict[str, Any] = {"model": spec.served_as, "messages": messages, spec.output_field: spec.max_output}
    if spec.temperature is not None:
        body["temperature"] = spec.temperature
    if tools:
        body["tools"] = list(tools)
    if grammar and spec.grammar is GrammarField.STRUCTURED_OUTPUTS:
        body["structured_outputs"] = {"grammar": grammar}
    elif grammar and spec.grammar is not GrammarField.NONE:
        body[spec.grammar.value] = grammar
    elif structured is Structured.SCHEMA:
        named = {"name": FUNCTION, "schema": schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    elif structured is Structured.TOOLS:
        function = {"name": FUNCTION, "description": "Give the answer.", "parameters": schema}
        body.setdefault("tools", []).append({"type": "function", "function": function})
        only = {"type": "function", "function": {"name": FUNCTION}}
        body["tool_choice"] = "required" if tools else only
    return {**body, **spec.extra}


def in_words(schema: dict[str, Any]) -> str:
    """What is added to a prompt where the server cannot be asked for a form in any other way."""
    return "\n\nAnswer with one JSON object and nothing else. It must fit this JSON schema:\n" + json.dumps(
        schema, ensure_ascii=False
    )


def most_prompt_tokens(body: Mapping[str, Any]) -> int:
    """An upper bound of the prompt's tokens: a token is at least one byte of what is sent."""
    return len(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")) + _OVERHEAD


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function that the model wants called, other than the one that takes its answer."""

    id: str
    name: str
    arguments: str

    def message(self) -> dict[str, Any]:
        """As it stands in the assistant's message."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True, slots=True)
class Said:
    """A chat completion, read. Tokens are None where the server did not report them."""

    text: str
    refusal: str
    finish: str
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    calls: tuple[ToolCall, ...] = ()

    def cleaned(self, clean: Callable[[str], str]) -> Said:
        """With every text passed through ``clean``: a server knows the key, and may write it anywhere."""
        calls = tuple(replace(call, name=clean(call.name), arguments=clean(call.arguments)) for call in self.calls)
        return replace(self, text=clean(self.text), refusal=clean(self.refusal), calls=calls)

    def check(self, spec: ModelSpec) -> None:
        """Raise AnswerRefused, AnswerTruncated or AnswerEmpty where it is one of these."""
        if self.refusal or self.finish == "content_filter":
            problem = self.refusal[:500] or "a filter of the server held the answer back"
            raise AnswerRefused(model=spec.name, problem=problem)
        if self.finish == "length":
            tokens = self.completion_tokens if self.completion_tokens is not None else "all its"
            raise AnswerTruncated(tokens=tokens, limit=spec.max_output)
        if not self.text.strip() and not self.calls:
            raise AnswerEmpty()


def read(raw: bytes, spec: ModelSpec) -> Said:
    """A completion's bytes, read. Raises AnswerBinary and AnswerMalformed."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AnswerBinary(model=spec.name, problem=f"byte {error.start} is no UTF-8") from None
    try:
        form = json.loads(text)
    except (ValueError, RecursionError):
        raise AnswerMalformed(model=spec.name, problem=f"{len(raw)} bytes that are no JSON") from None
    choice = _first(form)
    message = choice.get("message") if choice is not None else None
    if choice is None or not isinstance(message, dict):
        raise AnswerMalformed(model=spec.name, problem="JSON without choices[0].message")
    calls = tuple(_calls(message.get("tool_calls")))
    answers = [call.arguments for call in calls if call.name == FUNCTION]
    content = answers[0] if answers else _text(message.get("content"))
    if "\0" in content:
        raise AnswerBinary(model=spec.name, problem="it holds NUL bytes")
    others = () if answers else calls
    return Said(
        content,
        _without_nul(_text(message.get("refusal"))),
        _text(choice.get("finish_reason")),
        *_usage(form),
        calls=others,
    )


def _first(form: Any) -> dict[str, Any] | None:
    choices = form.get("choices") if isinstance(form, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def _text(value: Any) -> str:
    """A text without halves of surrogate pairs, which no database column holds; parts of text are joined."""
    if isinstance(value, list):
        value = "".join(
            part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def _without_nul(text: str) -> str:
    return text.replace("\0", "\ufffd")


def _calls(listed: Any) -> Iterator[ToolCall]:
    for call in listed if isinstance(listed, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            continue
        given = function.get("arguments")
        arguments = json.dumps(given) if isinstance(given, dict) else _text(given)
        name = _without_nul(_text(function.get("name")))
        yield ToolCall(_text(call.get("id")), name, _without_nul(arguments) if name != FUNCTION else arguments)


def _usage(form: dict[str, Any]) -> tuple[int | None, int | None, int | None]:
    usage = form.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return _count(usage.get("prompt_tokens")), _count(cached), _count(usage.get("completion_tokens"))


def _count(value: Any) -> int | None:
    """A count as it is; None for what cannot be one, whatever the server wrote there."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None
