"""Which line of the program a knob, an operand or a link stands on. Without the syntax tree only links are known."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign


@dataclass(frozen=True, slots=True)
class Origins:
    """Program lines (1-based) of one stage's parts."""

    stage: Stage
    source: Assign | None

    @property
    def call(self) -> int:
        """The line the stage begins on."""
        return self.stage.span.line

    def operand(self, index: int) -> int:
        """The line of the call's argument ``index``."""
        if self.source is None or index >= len(self.source.args):
            return self.call
        return self.source.args[index].span.line

    def knob(self, name: str) -> int | None:
        """The line of a knob that the program wrote; None for a default."""
        if self.source is None:
            return self.call if name in self.stage.written else None
        return next((knob.span.line for knob in self.source.knobs if knob.name == name), None)

    def note(self, name: str) -> str:
        """``.tile(128, 256, 64)``, with ``(default)`` behind it where the program did not write it."""
        value = self.stage.knobs.get(name)
        if value == 0:
            value = "auto"
        inner = ", ".join(str(item) for item in value) if isinstance(value, list | tuple) else str(value)
        return f".{name}({inner})" + ("" if name in self.stage.written else " (default)")
