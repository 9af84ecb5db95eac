"""One ask put to a model until there is an answer that can be used: booked, sent, read, tried again, all on record.

Each request is a ``Call`` of its own. What a server may recover from is waited for, with exponential back-off and
jitter that follows from the seed; an answer of the wrong form is asked for again with its error in words; tools that
the model calls are called, and their texts handed back.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, replace
from typing import Any

from agent.draws import draws
from agent.errors import AnswerUnfit
from agent.llm import client
from agent.llm.asking import Said, body_of, in_words, most_prompt_tokens, read
from agent.llm.errors import CallError, CallStopped, ModelRequestRefused, ToolsWithoutEnd
from agent.llm.found_json import Accept, found_json
from agent.llm.keys import Key
from agent.llm.record import Call, Desk, Request, Sleep
from agent.llm.spec import ModelSpec, Structured
from agent.prompts.prompt import Prompt
from agent.tools import Toolbox

FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
PATIENCE_S = 300.0
"""A server that asks to wait longer than this is taken as failed."""
FORM_TRIES = 2
"""So often an answer of the wrong form is asked for again: each is paid."""
_STEP_S = 0.2
_ROUNDS = 12
"""Most requests of one try: calls of tools, and the answer."""
_DOWN = {Structured.SCHEMA: Structured.TOOLS, Structured.TOOLS: Structured.TEXT}
_UNSUPPORTED = (400, 422, 501)
"""Statuses by which servers say that they do not know a field of the request."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked by which ask. ``grammar`` is empty where the server is held to the prompt's schema alone."""

    ask: int
    phase: str
    seed: int
    prompt: Prompt
    grammar: str = ""


class Conversation:
    """The tries of one question; ``answer`` is called once."""

    def __init__(
        self, spec: ModelSpec, key: Key, desk: Desk, tools: Toolbox | None = None, sleep: Sleep = time.sleep
    ) -> None:
        self.spec, self.key, self.desk = spec, key, desk
        self._tools = tools or Toolbox(())
        self._sleep = sleep
        self._structured = spec.structured
        self._grammar = True

    def answer(self, question: Question, accept: Accept) -> dict[str, Any]:
        """A usable answer's object. Raises the last try's CallError or AnswerUnfit, BudgetSpent or CallStopped."""
        again, forms, waits = "", 0, 0
        while True:
            try:
                return self._try(question, again, accept)
            except (CallError, AnswerUnfit) as error:
                if _of_form(error):
                    forms, again = forms + 1, _again(error)
                    if forms > FORM_TRIES:
                        raise
                elif isinstance(error, ModelRequestRefused) and error.fields["status"] in _UNSUPPORTED:
                    if not self._step_down(question):
                        raise
                else:
                    self._wait(question, waits, error)
                    waits += 1

    def _wait(self, question: Question, number: int, error: CallError | AnswerUnfit) -> None:
        """Wait before another try of what may pass; raises the error where it will not, or was tried often enough."""
        asked = error.fields.get("retry_after")
        passing = isinstance(error, CallError) and error.passing
        if not passing or number >= self.spec.retries or (asked is not None and asked > PATIENCE_S):
            raise error
        chance = draws(question.seed, question.ask, f"back-off {number}")
        wait = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0**number) * chance.uniform(0.5, 1.0)
        self._pause(max(wait, asked or 0.0))

    def _step_down(self, question: Question) -> bool:
        """Ask for the form in a plainer way, since the server does not know this one; False where there is none."""
        if self._grammar and question.grammar:
            self._grammar = False
            return True
        down = _DOWN.get(self._structured)
        self._structured = down or self._structured
        return down is not None

    def _try(self, question: Question, again: str, accept: Accept) -> dict[str, Any]:
        messages = self._messages(question, again)
        for _ in range(_ROUNDS):
            said, data = self._once(question, messages, accept)
            if data is not None:
                return data
            calls = [call.message() for call in said.calls]
            messages.append({"role": "assistant", "content": said.text or None, "tool_calls": calls})
            for call in said.calls:
                text = self._tools.call(call.name, call.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
        raise ToolsWithoutEnd(model=self.spec.name, count=_ROUNDS)

    def _messages(self, question: Question, again: str) -> list[dict[str, Any]]:
        plain = self._structured is Structured.TEXT and not self._constrained(question)
        words = in_words(question.prompt.schema) if plain else ""
        return [
            {"role": "system", "content": question.prompt.system},
            {"role": "user", "content": question.prompt.user + words + again},
        ]

    def _constrained(self, question: Question) -> bool:
        return bool(self._grammar and question.grammar)

    def _once(
        self, question: Question, messages: list[dict[str, Any]], accept: Accept
    ) -> tuple[Said, dict[str, Any] | None]:
        """One request: what was said, and its object; None in place of that where it calls tools first."""
        request = self._request(question, messages)
        while (wait := self.desk.book(request)) > 0:
            self._pause(wait)
        began, said, data = time.monotonic(), None, None
        try:
            raw = client.send(self.spec, self.key, request.body, self.desk.stop)
            said = read(raw, self.spec).cleaned(self.key.scrub)
            said.check(self.spec)
            if not said.calls:
                data = found_json(said.text, accept)
        except (CallError, AnswerUnfit) as error:
            self.desk.close(self._call(said, None, error, time.monotonic() - began))
            raise
        self.desk.close(self._call(said, data, None, time.monotonic() - began))
        return said, data

    def _request(self, question: Question, messages: list[dict[str, Any]]) -> Request:
        body = body_of(
            self.spec,
            messages,
            question.prompt.schema,
            self._structured,
            grammar=question.grammar if self._grammar else "",
            tools=self._tools.definitions,
        )
        later = [json.dumps(message, ensure_ascii=False) for message in messages[2:]]
        return Request(
            spec=self.spec,
            ask=question.ask,
            phase=question.phase,
            system=question.prompt.system,
            user="\n".join([messages[1]["content"], *later]),
            body=body,
            most_prompt=most_prompt_tokens(body),
            left_out=question.prompt.left_out,
        )

    def _call(self, said: Said | None, data: Any, error: CallError | AnswerUnfit | None, seconds: float) -> Call:
        call = Call(
            answer=_shown(said) if said is not None else "",
            data=data,
            error=error.slug() if error is not None else "",
            words=self.key.scrub(str(error)) if error is not None else "",
            prompt_tokens=said.prompt_tokens if said is not None else None,
            cached_tokens=said.cached_tokens if said is not None else None,
            completion_tokens=said.completion_tokens if said is not None else None,
            cost=None,
            seconds=seconds,
            paid=not (isinstance(error, CallError) and error.unpaid),
        )
        return replace(call, cost=_cost(self.spec, call))

    def _pause(self, seconds: float) -> None:
        """Sleep in small steps, so that a cancelled run does not wait. Raises CallStopped."""
        for _ in range(math.ceil(seconds / _STEP_S)):
            if self.desk.stop():
                raise CallStopped(model=self.spec.name)
            self._sleep(min(_STEP_S, seconds))


def _of_form(error: CallError | AnswerUnfit) -> bool:
    """Whether the answer came and was paid, but has the wrong form."""
    return isinstance(error, AnswerUnfit) or error.form


def _again(error: CallError | AnswerUnfit) -> str:
    return f"\n\nAn earlier answer to this could not be used: {error}. Give a whole new answer."


def _shown(said: Said) -> str:
    if said.calls:
        return json.dumps([call.message()["function"] for call in said.calls], ensure_ascii=False)
    return said.text or said.refusal


def _cost(spec: ModelSpec, call: Call) -> float | None:
    """What the call cost; None where a price or a count is not known, or it was not answered."""
    if spec.prices is None or call.prompt_tokens is None or call.completion_tokens is None:
        return None
    return spec.prices.cost(call.prompt_tokens, call.completion_tokens, call.cached_tokens or 0)
