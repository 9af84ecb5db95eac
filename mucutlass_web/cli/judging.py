"""A model that reads each audited candidate: asked through the same client as proposers, its words one flag more."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agent.errors import AnswerUnfit, WrongSchema
from agent.llm.errors import CallError, UnknownModel
from agent.llm.keys import Key, key_of
from agent.llm.record import Call, Request
from agent.llm.spec import ModelSpec, read_models
from agent.llm.trying import Conversation, Question
from agent.prompts.prompt import Prompt
from sol.audit import Flag, Subject
from sol.audit.judge import Judgement, judgement
from sol.audit.judge_prompt import messages, schema

SETTING = "MUCUTLASS_MODELS"
HOW = "docs/models.md tells how to configure one"


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of asking. ``notes`` are for people: what was dropped, cut, or why there is no answer."""

    flags: tuple[Flag, ...]
    notes: tuple[str, ...]


class _Books:
    """Nobody's limits: each request may be made at once. ``stopped`` says that nobody waits any more."""

    def __init__(self, stopped: Callable[[], bool] | None) -> None:
        self._stopped = stopped

    def stop(self) -> bool:
        return self._stopped is not None and self._stopped()

    def book(self, request: Request) -> float:
        return 0.0

    def close(self, call: Call) -> None:
        """Nothing is kept."""

    def kept(self, ask: int) -> Call | None:
        return None


class Judge:
    """A configured model by its name. Raises ModelsUnreadable, UnknownModel and ModelKeyMissing."""

    def __init__(self, name: str, stopped: Callable[[], bool] | None = None) -> None:
        known = read_models(os.environ.get(SETTING, ""), SETTING)
        if name not in known:
            words = f"there are {', '.join(known)}" if known else f"{SETTING} configures none; {HOW}"
            raise UnknownModel(name=name, known=words)
        self.spec: ModelSpec = known[name]
        self._key: Key = key_of(self.spec)
        self._books = _Books(stopped)

    def judged(self, subject: Subject, others: Sequence[Flag]) -> Judged:
        """The model's flags beside those of all detectors; none, with a note, where it gave no usable answer."""
        said = messages(subject)
        prompt = Prompt(said.system, said.user, schema(), (said.left_out,) if said.left_out else ())
        cut = (f"{self.spec.name} was not shown {said.left_out}",) if said.left_out else ()
        try:
            conversation = Conversation(self.spec, self._key, self._books)
            answer = conversation.answer(Question(1, "judge", 0, prompt), _accept)
        except (CallError, AnswerUnfit) as error:
            return Judged((), (*cut, f"{self.spec.name} gave no judgement: {error.slug()}: {error}"))
        found: Judgement = judgement(answer, subject, others)
        return Judged(found.flags, (*cut, *(f"{self.spec.name}: {note}" for note in found.notes)))


def _accept(answer: dict[str, Any]) -> None:
    """An answer is a list of findings; what one of them holds is looked at apart."""
    if not isinstance(answer.get("findings"), list):
        raise WrongSchema(where="findings", found="missing or no list", right="a list of findings")
