"""Prompts: a pure function from settings, history and an ask to what a model is given, and back from its answer.

A prompt is never stored in an event: whoever answers an ask composes it again from the history.
"""

from __future__ import annotations

from agent.prompts.answers import Parts, parse
from agent.prompts.compose import compose
from agent.prompts.limits import LIMIT, limit_of
from agent.prompts.prompt import Prompt

__all__ = ["LIMIT", "Parts", "Prompt", "compose", "limit_of", "parse"]
