"""Writing a unit's source: lines that know which line of the program they came from, and a name that is their hash.

Comments carry what belongs to one program alone (its names, its text); all else in a source is configuration. The
symbol, and the key under which the shared object is cached, are hashes of the source without its ``//`` comments: two
programs with the same stage under other names share both, and a change of anything that is compiled changes both.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Literal

from kernels.codegen.emission import LineLink, Unit

SYMBOL = "@SYMBOL@"
"""Stands for the unit's symbol in the lines given to a ``Source``."""

_COMMENT = re.compile(r"^([^\"'\n]*?)[ \t]*//[^\n]*(?<!\\)$", re.MULTILINE)


def without_comments(source: str) -> str:
    """The source as it counts for hashing: no ``//`` comments and no blank lines.

    Where a quote stands before the slashes, or a backslash would continue the comment, it stays: a comment too many
    costs a compile, one too few would serve another program's object. For the same reason a source with raw strings
    stays as it is.
    """
    if 'R"' in source:
        return source
    lines = (line.rstrip() for line in _COMMENT.sub(r"\1", source).split("\n"))
    return "\n".join(line for line in lines if line)


class Source:
    """Collects lines. ``add`` takes the program's line where the C++ line came from a place in the program."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._links: list[LineLink] = []

    def add(self, text: str = "", *, mu: int | None = None, remark: str = "") -> None:
        """Append one line, with ``remark`` behind it; ``mu`` is the 1-based line of the program it came from."""
        if remark:
            # A remark must stay on its line, whatever text of the program it quotes.
            quoted = " ".join(remark.split()).rstrip("\\ ")
            text = f"{text}  // {quoted}" if text else f"// {quoted}"
        self._lines.append(text)
        if mu is not None:
            self._links.append(LineLink(cpp=len(self._lines), mu=mu))

    def extend(self, lines: Sequence[str]) -> None:
        """Append lines that came from no place in particular."""
        for line in lines:
            self.add(line)

    def finish(self, op: str, language: Literal["c++", "cuda"], stage: str) -> Unit:
        """The unit, its symbol ``mu_<op>_<12 hex digits>`` filled in."""
        text = "\n".join(self._lines) + "\n"
        digest = hashlib.sha256(without_comments(text).encode()).hexdigest()[:12]
        symbol = f"mu_{op}_{digest}"
        source = text.replace(SYMBOL, symbol)
        return Unit(symbol=symbol, language=language, source=source, lines=tuple(self._links), stages=(stage,))
