"""Text from outside made fit for a prompt: cleaned, cut with a note, and fenced off as data.

Whatever a candidate, a problem, a compiler or a model wrote is data here. It stands between two lines that carry a
token which occurs nowhere else in the prompt, so no text can end its own block or open another.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

TOKEN = "\0" * 16
"""Stands for the token until the prompt is whole. Cleaned text holds no NUL, so none can imitate it."""
WORTH_SHOWING = 60
"""With less room than this a text is left out rather than cut."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
_HEAD_SHARE = 0.65
"""Of a text that is cut in the middle, so much of what is kept comes from its beginning."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A text as short as it had to be; ``left_out`` says what is missing, empty where nothing is."""

    text: str
    left_out: str = ""


def clean(text: str) -> str:
    """The same length and no control characters, halves of surrogates or invisible ones: each becomes U+FFFD.

    Carriage returns go, which alone may make it shorter.
    """
    return _UNSEEN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def inline(text: str, most: int) -> str:
    """One line of at most ``most`` characters."""
    # Of a text of megabytes no more is looked at than may be shown.
    line = " ".join(clean(text[: 4 * most + 64]).split())
    cut = len(line) > most or len(text) > 4 * most + 64
    return line if not cut else line[: max(0, most - 1)].rstrip() + "…"[:most]


def middle_cut(text: str, room: int) -> Cut:
    """``text`` in at most ``room`` characters: its beginning and its end, with a note of how much is missing."""
    if len(text) <= room:
        return Cut(clean(text))
    note = f"\n[… {len(text):,} characters in all, the middle left out …]\n"
    kept = room - len(note)
    if kept < WORTH_SHOWING:
        return Cut("", "all of it")
    head = int(kept * _HEAD_SHARE)
    shown = clean(text[:head]) + note + clean(text[len(text) - (kept - head) :])
    return Cut(shown, f"{len(text) - kept:,} of {len(text):,} characters")


def block(name: str, text: str, room: int) -> Cut:
    """``text`` fenced as data under ``name``, in at most ``room`` characters; cut in the middle where it is longer."""
    opening, closing = f"<<<{TOKEN} {name}\n", f"\n{TOKEN}>>>"
    cut = middle_cut(text, max(0, room - len(opening) - len(closing)))
    if not cut.text:
        return Cut("", f"{name}: {cut.left_out}" if cut.left_out else "")
    return Cut(opening + cut.text + closing, f"{name}: {cut.left_out}" if cut.left_out else "")


def inside(name: str, room: int) -> int:
    """What a block of that name leaves of ``room`` for its text."""
    return max(0, room - len(f"<<<{TOKEN} {name}\n\n{TOKEN}>>>"))


def sealed(text: str) -> str:
    """A whole prompt with its token in place: 16 hexadecimal digits that follow from the text and are not in it."""
    for turn in range(1 + len(text)):
        token = hashlib.sha256(f"{turn}\n{text}".encode("utf-8", "replace")).hexdigest()[: len(TOKEN)]
        if token not in text:
            break
    return text.replace(TOKEN, token)


def bullets(lines: list[str] | tuple[str, ...]) -> str:
    """A list, one line each."""
    return "\n".join(f"- {line}" for line in lines)
