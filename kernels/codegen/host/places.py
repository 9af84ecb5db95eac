"""Where in the program a C++ line came from: the lines of a stage's knobs, operands and chain links.

``source`` is the stage's syntax; for a stage made by hand it is None and everything points at the stage's own line.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.dsl.ir import Stage
from kernels.dsl.syntax import Assign


@dataclass(frozen=True, slots=True)
class Places:
    """Looks lines up for one stage."""

    stage: Stage
    source: Assign | None

    @property
    def line(self) -> int:
        """The line the stage starts on."""
        return self.stage.span.line

    def knob(self, *names: str) -> int:
        """The line of the first of these knobs that the program wrote, else the stage's."""
        if self.source is not None:
            for name in names:
                for knob in self.source.knobs:
                    if knob.name == name:
                        return knob.span.line
        return self.line

    def operand(self, position: int) -> int:
        """The line of the stage's operand at ``position``."""
        if self.source is not None and position < len(self.source.args):
            return self.source.args[position].span.line
        return self.line

    def remark(self, *names: str) -> str:
        """What a knob's line says beside it: ``.tile(96, 512, 256)``, marked where it is a default."""
        parts = []
        for name in names:
            value = self.stage.knobs.get(name)
            shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            parts.append(f".{name}({shown})" + ("" if name in self.stage.written else " by default"))
        return " ".join(parts)
