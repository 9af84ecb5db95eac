"""What a phase adds to the prompt that all phases share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.prompts.fitting import Part
from agent.prompts.scene import Scene


@dataclass(frozen=True, slots=True)
class PhasePrompt:
    """``instructions`` end the system message and are the same within a run but for the settings; ``parts`` fill the
    user message, ``question`` ends it. ``teaches`` is whether the language reference belongs into the prompt."""

    instructions: Callable[[Scene], str]
    parts: Callable[[Scene], tuple[Part, ...]]
    question: Callable[[Scene], str]
    teaches: bool = True
