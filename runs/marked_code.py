"""A text with the lines of its flags marked: whole where it is short, else what lies around the marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from kernels.highlight import highlight
from runs.evidence import Mark

WHOLE_UP_TO = 600
"""Lines that are shown whole."""
AROUND = 12
"""Lines shown above and below a mark of a longer text, and at its beginning."""
MOST_LINES = 20_000
WIDEST = 1_000
"""Letters of one line that are shown."""
COLOURED_UP_TO = 200_000


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line; ``skipped`` lines before it are left out."""

    number: int
    html: str
    mark: Mark | None
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class MarkedCode:
    """The lines shown. ``after`` are left out behind the last one."""

    lines: tuple[CodeLine, ...]
    total: int
    after: int = 0

    @property
    def cut(self) -> bool:
        """Whether lines are left out."""
        return len(self.lines) < self.total


def count_lines(text: str) -> int:
    """Lines of a text as they are numbered."""
    return len(text.removesuffix("\n").split("\n"))


def marked_code(text: str, language: str, marks: Mapping[int, Mark], whole: bool = False) -> MarkedCode:
    """The text's lines with their marks; ``whole``: none left out up to ``MOST_LINES``."""
    html = _html(text, language)
    total = len(html)
    if whole or total <= WHOLE_UP_TO:
        wanted: list[int] = list(range(1, min(total, MOST_LINES) + 1))
    else:
        near = {line for mark in marks for line in range(mark - AROUND, mark + AROUND + 1)}
        near |= set(range(1, AROUND + 1))
        wanted = [line for line in sorted(near) if 1 <= line <= total][:MOST_LINES]
    lines, before = [], 0
    for number in wanted:
        lines.append(CodeLine(number, html[number - 1], marks.get(number), number - before - 1))
        before = number
    return MarkedCode(tuple(lines), total, total - before)


def _html(text: str, language: str) -> list[str]:
    """One string of safe HTML a line; a very long line is cut, and nothing of such a text is coloured."""
    rows = text.removesuffix("\n").split("\n")
    if len(text) <= COLOURED_UP_TO and all(len(row) <= WIDEST for row in rows):
        coloured = highlight(text, language)
        return [*coloured, *[""] * (len(rows) - len(coloured))][: len(rows)]
    return [_cut(row) for row in rows]


def _cut(row: str) -> str:
    if len(row) <= WIDEST:
        return escape(row)
    return f'{escape(row[:WIDEST])}<span class="c"> … {len(row) - WIDEST:,} more</span>'
