"""How alike two texts are when names, numbers, layout and comments are left aside: sketches of their word sequences.

A sketch is the smallest hashes of all runs of ``SHINGLE`` words (bottom-k MinHash: Broder, "On the resemblance and
containment of documents", 1997). It is small, made once, and two of them tell the share of common runs.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

from kernels.languages import Language
from sol.audit.cxx.tokens import Kind, tokenize

SHINGLE = 5
"""Words in a run."""

SKETCH = 64
"""Hashes kept: a likeness is then right to about ±0.06."""

ALIKE = 0.8
"""From here on a verdict on one is proposed for the other."""

_PYTHON = re.compile(
    r"(?P<skip>#[^\n]*|\s+)"
    r"|(?P<text>(?:[rRbBfFuU]{0,2})(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"))"
    r"|(?P<number>\d[\w.]*)|(?P<name>\w+)|(?P<mark>.)",
    re.DOTALL,
)
_WORD = re.compile(r"(?P<skip>#[^\n]*|\s+)|(?P<word>[\w.+-]+|.)")


def sketch(text: str, language: Language) -> tuple[int, ...]:
    """At most ``SKETCH`` hashes, smallest first; the same for texts that differ in own names, numbers and comments.

    A μCUTLASS program is its numbers: they are kept there. Any text has one; nothing raises.
    """
    words = _words(text, language)
    if not words:
        return ()
    runs = {" ".join(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1))}
    return tuple(sorted({zlib.crc32(run.encode("utf-8", "replace")) for run in runs})[:SKETCH])


def likeness(one: Sequence[int], other: Sequence[int]) -> float:
    """The share of common runs of two sketches' texts, 0 to 1; 0 where either is empty."""
    if not one or not other:
        return 0.0
    mine, theirs = set(one), set(other)
    lowest = sorted(mine | theirs)[:SKETCH]
    return sum(value in mine and value in theirs for value in lowest) / len(lowest)


def _words(text: str, language: Language) -> list[str]:
    if language is Language.MU:
        return [match["word"] for match in _WORD.finditer(text) if match["word"]]
    if language is Language.PY:
        return list(_python_words(text))
    return _cxx_words(text)


def _python_words(text: str) -> list[str]:
    """Names that follow a dot, or that open a call, are what is used; all others are the writer's own."""
    found: list[str] = []
    for match in _PYTHON.finditer(text):
        kind, said = match.lastgroup, match[0]
        if kind == "skip":
            continue
        if kind == "text":
            found += _cxx_words(said[3:-3]) if "__global__" in said or "#include" in said else ["s"]
        elif kind == "name":
            used = (found and found[-1] == ".") or text[match.end() : match.end() + 1] == "("
            found.append(said if used else "n")
        else:
            found.append("0" if kind == "number" else said)
    return found


def _cxx_words(text: str) -> list[str]:
    found: list[str] = []
    code = tokenize(text).code
    for at, token in enumerate(code):
        if token.kind is Kind.NAME:
            around = (code[at - 1].text if at else "", code[at + 1].text if at + 1 < len(code) else "")
            found.append(token.text if around[0] in (".", "->", "::") or around[1] in ("(", "::", "<<<") else "n")
        elif token.kind in (Kind.STRING, Kind.CHARACTER):
            found.append("s")
        else:
            found.append("0" if token.kind is Kind.NUMBER else token.text)
    return found
