"""Whether lines of one text still stand in another: to the letter, or with other names and numbers.

Layout, comments and lines that say next to nothing (brackets, ``else:``, a signature) count neither way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sol.audit.record import Place

_WORD = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<comment>\#(?!\s*(?:include|define|pragma|if|endif)).*|//.*)"""
    r"""|(?P<number>\d[\w.]*)|(?P<name>[^\W\d]\w*)|(?P<mark>\S)"""
)
_LEAST_WORDS = 4
"""A line of fewer words and marks says nothing of where it came from."""

_SIGNATURE = re.compile(r"\s*(?:async\s+)?(?:def|class|import|from|using|template|#\s*include)\b")
_KEPT_WORDS = frozenset(
    {"if", "for", "while", "return", "not", "in", "is", "else", "self", "None", "static", "and", "or"}
)


@dataclass(frozen=True, slots=True)
class Survival:
    """How much of a marked text still stands, as shares of its telling lines, and the lines that it stands in.

    ``exact`` is to the letter, ``renamed`` all together and in order with other names. ``words`` is its length.
    """

    exact: float
    renamed: bool
    words: int
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    exact: str
    shape: str
    words: int


class Lines:
    """A text's telling lines."""

    def __init__(self, text: str) -> None:
        self.lines = tuple(_telling(text))

    @classmethod
    def of(cls, lines: tuple[_Line, ...]) -> Lines:
        """Some of a text's lines."""
        made = cls("")
        made.lines = lines
        return made

    @cached_property
    def _exact(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for line in self.lines:
            found.setdefault(line.exact, line.number)
        return found

    @cached_property
    def _shapes(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for at, line in enumerate(self.lines):
            found.setdefault(line.shape, []).append(at)
        return found

    def holds(self, marked: Lines) -> Survival | None:
        """What of another text's lines stands here; None where that text has no telling line."""
        if not marked.lines:
            return None
        there = [line for line in marked.lines if line.exact in self._exact]
        numbers = sorted({self._exact[line.exact] for line in there})
        words = sum(line.words for line in marked.lines)
        share = sum(line.words for line in there) / words
        at = self._renamed(marked)
        if not numbers and at is not None:
            numbers = [line.number for line in self.lines[at : at + len(marked.lines)]]
        return Survival(share, at is not None, words, tuple(_together(numbers)))

    def _renamed(self, marked: Lines) -> int | None:
        """Where the other's lines stand in order, names and numbers aside."""
        shapes = [line.shape for line in marked.lines]
        for at in self._shapes.get(shapes[0], []):
            if [line.shape for line in self.lines[at : at + len(shapes)]] == shapes:
                return at
        return None

    def without(self, others: Lines) -> Lines:
        """The lines that stand in none of another text: a problem's own are nobody's trick."""
        return Lines.of(tuple(line for line in self.lines if line.exact not in others._exact))


def _telling(text: str) -> Iterator[_Line]:
    for number, written in enumerate(text.split("\n"), start=1):
        exact, shape = _read(written)
        if len(exact) >= _LEAST_WORDS and not _SIGNATURE.match(written):
            yield _Line(number, " ".join(exact), " ".join(shape), len(exact))


def _read(written: str) -> tuple[list[str], list[str]]:
    """The words of a line, and the same with own names, numbers and strings left aside."""
    exact: list[str] = []
    shape: list[str] = []
    for match in _WORD.finditer(written):
        kind, said = match.lastgroup, match[0]
        if kind == "comment":
            continue
        used = (exact and exact[-1] in (".", ">", ":")) or written[match.end() : match.end() + 1] == "("
        exact.append(said)
        if kind == "name":
            shape.append(said if used or said in _KEPT_WORDS else "n")
        else:
            shape.append({"number": "0", "text": "s"}.get(kind or "", said))
    return exact, shape


def _together(numbers: list[int]) -> Iterator[Place]:
    """Neighbouring lines as one place."""
    first = last = 0
    for number in numbers:
        if first and number > last + 1:
            yield Place(first, last)
            first = number
        first, last = first or number, number
    if first:
        yield Place(first, last)
