"""What a tool is, and the errors that its call answers with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from kernels.errors import UserError


@dataclass(frozen=True, slots=True)
class Tool:
    """One function. ``parameters`` is the JSON schema of its arguments, an object; ``call`` takes them by name and
    gives text, or raises ToolRefused."""

    name: str
    description: str
    parameters: dict[str, Any]
    call: Callable[[Mapping[str, Any]], str]

    def definition(self) -> dict[str, Any]:
        """As the OpenAI protocol lists it under ``tools``."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


class ToolRefused(UserError):
    """A call that is not carried out: the root of those below. Its words go back to the model."""


class UnknownTool(ToolRefused):
    """A tool that was not offered."""

    template: ClassVar[str] = "there is no tool {name}; there are {known}"


class CallsSpent(ToolRefused):
    """More calls than an answer may make."""

    template: ClassVar[str] = (
        "{most} calls of tools were made for this answer and no more are; write the answer now"
    )


class WrongArguments(ToolRefused):
    """Arguments of another form than the tool's."""

    template: ClassVar[str] = "{name}: {found}; {right} would be right"


class OutsideTheTree(ToolRefused):
    """A path that leads out of the tree."""

    template: ClassVar[str] = "{path} leads out of the tree; a path below it without .. would be right"


class NotInTheTree(ToolRefused):
    """A path that is not there, or not of the kind that was asked for."""

    template: ClassVar[str] = "{path}: there is no such {kind} here; {right}"


class NotText(ToolRefused):
    """A file that holds no text."""

    template: ClassVar[str] = "{path} holds no text; sources and headers can be read"
