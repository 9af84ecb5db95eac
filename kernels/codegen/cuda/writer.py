"""The shared ``Source``, with remarks in one column, as C++ beside its program is easier to read."""

from __future__ import annotations

from kernels.codegen.emission import Unit
from kernels.codegen.source import SYMBOL, Source

__all__ = ["SYMBOL", "SourceWriter"]

_NOTE_COLUMN = 60


class SourceWriter(Source):
    """Collects the lines of one CUDA unit."""

    def line(self, code: str = "", note: str = "", mu: int | None = None) -> None:
        """One line; ``note`` stands behind it as a comment, ``mu`` is the program's line that it came from."""
        self.add(code.ljust(_NOTE_COLUMN) if code and note else code, mu=mu, remark=note)

    def lines(self, text: str) -> None:
        """Several lines that came from no place in the program."""
        self.extend(text.strip("\n").split("\n"))

    def unit(self, op: str, stage: str) -> Unit:
        """The finished unit."""
        return self.finish(op, "cuda", stage)
