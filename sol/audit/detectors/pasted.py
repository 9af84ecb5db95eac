"""A library's source inside the candidate."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_HOLDER = re.compile(
    r"copyright.{0,60}(nvidia|facebook|meta platforms|openai|tri dao|google|microsoft|pytorch|intel corporation|"
    r"advanced micro devices|philippe tillet|deepseek|amd\b)",
    re.IGNORECASE | re.DOTALL,
)
_LICENCE = re.compile(
    r"redistribution and use in source and binary forms|licensed under the apache license|"
    r"permission is hereby granted, free of charge",
    re.IGNORECASE,
)
_WORTH = re.compile("copyright|redistribution|licensed|permission", re.IGNORECASE)
"""Without one of these there is no notice to be found."""
_SPACES = frozenset({"cutlass", "cute", "at", "c10", "cub", "thrust", "flash", "faiss", "ck", "cuda"})


class Pasted(SourceDetector):
    """By the comments (a licence and its holder) and by namespaces that belong to a library. Including one is legal."""

    name = "pasted"
    tricks = (Trick.PASTED_LIBRARY,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Comments of Python, by its own tokenizer."""
        comments: list[tuple[str, int]] = []
        if not _WORTH.search("\n".join(code.lines)):
            return
        try:
            for token in tokenize.generate_tokens(io.StringIO("\n".join(code.lines)).readline):
                if token.type == tokenize.COMMENT:
                    comments.append((token.string, token.start[0]))
        except (tokenize.TokenError, SyntaxError):
            return
        yield from self._comments(comments)

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Comments and namespaces of C++."""
        yield from self._comments([(comment.text, comment.line) for comment in unit.comments])
        code = unit.code
        for index, token in enumerate(code[:-2]):
            opened = token.text == "namespace" and code[index + 1].text in _SPACES
            if opened and code[index + 2].text in ("{", "::") and (index == 0 or code[index - 1].text != "using"):
                words = f"namespace {code[index + 1].text} is defined here, not included"
                yield self.flag(Trick.PASTED_LIBRARY, Severity.SUSPECT, 0.75, words, line(token.line))
                return

    def _comments(self, comments: list[tuple[str, int]]) -> Iterator[Flag]:
        whole = " ".join(text.strip("#*/ \n") for text, _ in comments)
        place = line(comments[0][1]) if comments else line(1)
        if (holder := _HOLDER.search(whole)) is not None:
            words = f"a copyright notice of a library: {quoted(holder.group())}"
            yield self.flag(Trick.PASTED_LIBRARY, Severity.SUSPECT, 0.85, words, place)
        elif (licence := _LICENCE.search(whole)) is not None:
            words = f"the text of a licence: {quoted(licence.group())}"
            yield self.flag(Trick.PASTED_LIBRARY, Severity.SUSPECT, 0.6, words, place)
