"""Answers from a script, one an ask, for tests and demonstrations. It is no model and never shown as one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.errors import AnswerUnfit, ScriptUnreadable
from agent.history import EXHAUSTED
from agent.prompts import parse
from agent.steps import Answered, Ask, Candidate, History, TrajectorySettings


class Scripted:
    """``script`` is a list in JSON; its n-th entry answers ask n, and past its end the space is exhausted.

    An entry is ``{"candidates": [{"text": …, "change": …, "hypothesis": …}]}`` (the last two may be left out),
    ``{"answer": …}``, read as a model's answer to the ask's phase is, or ``{"error": …}``. A candidate's parent is
    the ask's, its language the run's.
    """

    name = "scripted"

    def __init__(self, script: Sequence[dict[str, Any]]) -> None:
        self._script = tuple(script)

    @classmethod
    def from_file(cls, path: str | Path) -> Scripted:
        """Raises ScriptUnreadable where the file is missing, is no JSON or has another shape."""
        try:
            script = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ScriptUnreadable(path=path, problem=error) from None
        if not isinstance(script, list) or not all(_is_answer(entry) for entry in script):
            raise ScriptUnreadable(path=path, problem="it holds something else")
        return cls(script)

    def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
        """The entry for ``ask``, cut to the count asked for."""
        if not 0 < ask.number <= len(self._script):
            return Answered(ask.number, (), EXHAUSTED)
        entry = self._script[ask.number - 1]
        if "answer" in entry:
            return _read(settings, ask, entry["answer"])
        candidates = tuple(
            Candidate(
                made["text"],
                ask.parent,
                made.get("change", ""),
                made.get("hypothesis", ""),
                settings.representation,
            )
            for made in entry.get("candidates", [])[: ask.count]
        )
        return Answered(ask.number, candidates, entry.get("error"))


def _read(settings: TrajectorySettings, ask: Ask, answer: object) -> Answered:
    try:
        parts = parse(settings, ask, answer)
    except AnswerUnfit as error:
        return Answered(ask.number, (), f"{error.slug()}: {error}")
    return Answered(ask.number, parts.candidates, data=parts.data)


def _is_answer(entry: object) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("error"), str | None):
        return False
    candidates = entry.get("candidates", [])
    return isinstance(candidates, list) and all(
        isinstance(made, dict)
        and isinstance(made.get("text"), str)
        and all(isinstance(made.get(key, ""), str) for key in ("change", "hypothesis"))
        for made in candidates
    )
