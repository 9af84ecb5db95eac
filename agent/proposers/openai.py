"""The proposer that asks a language model: any server that speaks the OpenAI protocol.

It composes the prompt from the history, puts it to the model until an answer can be used, and reads that. It keeps no
books, knows no configuration and stores nothing: whoever drives it gives the model, the key and a desk.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from agent.errors import AnswerUnfit
from agent.history import SPENT, first_event
from agent.llm.errors import BudgetSpent, CallError
from agent.llm.grammar import grammar_of
from agent.llm.keys import Key
from agent.llm.record import Desk, Sleep
from agent.llm.spec import GrammarField, ModelSpec
from agent.llm.trying import Conversation, Question
from agent.phases import Phase, phase_of
from agent.prompts import compose, parse
from agent.steps import Answered, Ask, History, TrajectorySettings
from agent.tools import Tool, Toolbox
from kernels.languages import Language

_PLAIN = (Phase.ATTEMPT, Phase.SEED, Phase.EXPAND, Phase.IMPLEMENT)
"""Phases whose answer is a list of candidates and nothing else, which a grammar can describe."""


class OpenAI:
    """One model, for one run. ``tools`` may be called by the model while it writes an answer."""

    name = "openai"

    def __init__(
        self, spec: ModelSpec, key: Key, desk: Desk, tools: Sequence[Tool] = (), sleep: Sleep = time.sleep
    ) -> None:
        self.spec, self.key, self.desk = spec, key, desk
        self._tools, self._sleep = tuple(tools), sleep

    def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
        """Candidates, or a phase's own answer. An answer that was stored before an interruption is not paid twice."""
        kept = self.desk.kept(ask.number)
        try:
            data = kept.data if kept is not None else self._asked(settings, history, ask)
            parts = parse(settings, ask, data)
        except BudgetSpent as error:
            return Answered(ask.number, (), f"{SPENT}{error}")
        except (CallError, AnswerUnfit) as error:
            return Answered(ask.number, (), f"{error.slug()}: {self.key.scrub(str(error))}")
        return Answered(ask.number, parts.candidates, data=parts.data)

    def _asked(self, settings: TrajectorySettings, history: History, ask: Ask) -> object:
        question = Question(
            ask=ask.number,
            phase=phase_of(ask).value,
            seed=settings.seed,
            prompt=compose(settings, history, ask),
            grammar=self._grammar(settings, history, ask),
        )
        conversation = Conversation(self.spec, self.key, self.desk, Toolbox(self._tools), self._sleep)
        return conversation.answer(question, lambda data: _check(settings, ask, data))

    def _grammar(self, settings: TrajectorySettings, history: History, ask: Ask) -> str:
        """A constraint on decoding, where the server takes one and the answer is programs in our language."""
        if self.spec.grammar is GrammarField.NONE or settings.representation is not Language.MU:
            return ""
        return grammar_of(first_event(history), ask.count) if phase_of(ask) in _PLAIN else ""


def _check(settings: TrajectorySettings, ask: Ask, data: object) -> None:
    """Raise AnswerUnfit where the answer cannot be used."""
    parse(settings, ask, data)
