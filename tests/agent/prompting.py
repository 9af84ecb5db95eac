"""Histories for tests of prompts: attempts with long texts, and a prompt taken apart into data and the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agent.feedback.record import Advice, Finding, Severity
from agent.prompts import Prompt
from agent.steps import Answered, Ask, Asked, Candidate, Event, History, LessonNote, Submitted
from tests.agent.driving import ADVICE, failed, passed, started

BLOCK = re.compile(r"<<<([0-9a-f]{16}) ([^\n]*)\n(.*?)\n\1>>>", re.DOTALL)
PROGRAM = "program linear(x: f32[M, K], weight: f32[N, K]) -> f32[M, N]\n  y = gemm(x, weight.T)\n  return y\n"
SOURCE = (
    "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return self.linear(x)\n"
)
FINDING = Finding(
    "cache",
    Severity.WARNING,
    "B does not fit the cache",
    (Advice("a smaller block", "y", "tile", (64, 64, 64)),),
    1.4,
    "1 / 0.7",
)
LESSONS = (LessonNote(1, "other_gemm", "gemm", "compute", "tile k of 256 was 1.3 times as fast"),)


def history_of(count: int, **changes: Any) -> History:
    """``count`` attempts in a row, every third of which fails."""
    told = {"problem_source": SOURCE, "sol_report": "compute: 1 GFLOP = 1 ms", "lessons": LESSONS}
    events: list[Event] = [started(**{**told, **changes})]
    for number in range(1, count + 1):
        made = Candidate(
            f"{PROGRAM}# {number}", number - 1 or None, f"y.tile({number}, 8, 8)", "why", predicted=1.3
        )
        result = failed(number) if number % 3 == 0 else passed(number, 9e-3 / number, feedback=(FINDING,))
        events += [Submitted(number, made), result]
    return tuple(events)


def iteration(history: History, number: int = 1) -> History:
    """The history with an analysis and a nomination behind it."""
    first = 1 + sum(isinstance(event, Asked) for event in history)
    asks = [
        Ask(first + place, "advise", 1, 1, {"iteration": number}, phase)
        for place, phase in enumerate(("analyze", "nominate"))
    ]
    added = [(Asked(ask), Answered(ask.number, (), data=ADVICE[ask.phase])) for ask in asks]
    return (*history, *(event for pair in added for event in pair))


def ask_for(phase: str, parent: int | None = 1, count: int = 1) -> Ask:
    """An ask of a phase, as its controller makes it."""
    payload: dict[str, Any] = {"iteration": 1}
    if phase == "implement":
        payload |= {"hypothesis": ADVICE["nominate"]["hypotheses"][0], "place": 0, "try": 2}
    advise = phase in ADVICE
    return Ask(99, "advise" if advise else "expand", parent, count, payload, phase)


def blocks(prompt: Prompt) -> dict[str, str]:
    """What is fenced off, by name."""
    return {name: text for _, name, text in BLOCK.findall(prompt.user)}


def outside(prompt: Prompt) -> str:
    """All that is not fenced off."""
    return prompt.system + BLOCK.sub("", prompt.user)


def named(prompt: Prompt, words: Sequence[str]) -> bool:
    """Whether there is a block whose name holds each of the words."""
    return all(any(word in name for name in blocks(prompt)) for word in words)
