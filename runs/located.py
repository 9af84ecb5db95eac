"""Refusals with their place: each "LINE:COL: rule: what is wrong; what would be right" beside the line it names."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLACE = re.compile(r"^(?:[^\s:]+:)?(?P<line>\d+):(?P<column>\d+): (?P<rule>[a-z][a-z0-9-]*): (?P<words>.*)$")


@dataclass(frozen=True, slots=True)
class Located:
    """One refusal. ``text`` is the source's line, ``caret`` the blanks and the mark under it; empty without a place."""

    line: int | None
    rule: str
    words: str
    text: str
    caret: str

    @property
    def gutter(self) -> str:
        """Blanks as wide as the line's number."""
        return " " * len(str(self.line)) if self.line is not None else ""


def located(detail: str, source: str) -> list[Located]:
    """Every refusal of an attempt's detail. A line without a place stands alone."""
    lines, found = source.split("\n"), []
    for words in detail.splitlines():
        match = _PLACE.match(words)
        if match is None:
            if words.strip():
                found.append(Located(None, "", words.strip(), "", ""))
            continue
        number, column = int(match["line"]), int(match["column"])
        text = lines[number - 1].rstrip("\r") if 1 <= number <= len(lines) else ""
        lead = "".join("\t" if c == "\t" else " " for c in text[: column - 1])
        found.append(Located(number, match["rule"], match["words"], text, f"{lead}^" if text else ""))
    return found
