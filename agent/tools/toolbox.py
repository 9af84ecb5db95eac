"""The tools of one answer: their definitions for the server, and their calls with a limit on how many there are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.steps import TrajectorySettings
from agent.tools.cutlass import cutlass_tools
from agent.tools.tool import CallsSpent, Tool, ToolRefused, UnknownTool, WrongArguments
from kernels.languages import Language

MOST_CALLS = 8
"""Of one answer: with MOST_CHARACTERS each they are as long as a prompt."""


def tools_for(settings: TrajectorySettings, cutlass: Path | None) -> tuple[Tool, ...]:
    """The tools of a run: CUTLASS's tree for one that writes CUDA C++, where it is installed; else none."""
    if settings.representation is not Language.CU or cutlass is None:
        return ()
    return cutlass_tools(cutlass)


class Toolbox:
    """For one answer; it counts its calls. ``call`` gives text whatever it is asked, and never raises for it."""

    def __init__(self, tools: Sequence[Tool], most_calls: int = MOST_CALLS) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._left = self._most = most_calls

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """As the OpenAI protocol lists them; empty once no call is left, so that the model writes its answer."""
        return [tool.definition() for tool in self._tools.values()] if self._left > 0 else []

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """What the tool says, or why it was not called."""
        try:
            return self._call(name, arguments)
        except ToolRefused as error:
            return f"error: {error.slug()}: {error}"

    def _call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        if self._left <= 0:
            raise CallsSpent(most=self._most)
        self._left -= 1
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownTool(name=repr(name[:80]), known=", ".join(self._tools) or "none")
        return tool.call(_decoded(name, arguments))


def _decoded(name: str, arguments: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise WrongArguments(name=name, found="arguments that are no JSON", right="an object") from None
    if not isinstance(arguments, Mapping):
        raise WrongArguments(name=name, found="arguments that are no object", right="an object")
    return arguments
