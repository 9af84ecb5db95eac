"""Reading pages as a person does: their words, their links, an element by id."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from runs.figures import THIN

_HIDDEN = re.compile(r"<(script|style|title|noscript)\b.*?</\1>", re.S)
_TAG = re.compile(r"<[^>]+>")


def html(response: Any) -> str:
    """The page's text as sent."""
    return str(response.content.decode())


def words(source: str) -> str:
    """What is left when the tags are gone, with ordinary blanks."""
    text = unescape(_TAG.sub(" ", _HIDDEN.sub(" ", source))).replace(THIN, " ").replace("\u200b", "")
    return re.sub(r"\s+", " ", text)


def text_of(response: Any) -> str:
    """The page in words."""
    return words(html(response))


def part(source: str, key: str, tag: str) -> str:
    """The element with this id, to its first closing tag of the same name at or below its own depth."""
    start = re.search(rf'<{tag}\b[^>]*\bid="{re.escape(key)}"', source)
    assert start is not None, f"no <{tag}> with id {key}"
    depth, at = 0, start.start()
    for match in re.finditer(rf"<(/?){tag}\b", source[at:]):
        depth += -1 if match[1] else 1
        if depth == 0:
            return source[at : at + match.end()]
    return source[at:]


def links(source: str) -> list[str]:
    """Every address that the page links to."""
    return [unescape(found) for found in re.findall(r'href="([^"]*)"', source)]
