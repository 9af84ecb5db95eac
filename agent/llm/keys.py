"""A key that cannot be shown by accident: not by ``repr``, not in an f-string, not in JSON."""

from __future__ import annotations

import os
from pathlib import Path

from agent.llm.errors import ModelKeyMissing
from agent.llm.spec import ModelSpec

HIDDEN = "[key]"
_WORD = 8
"""A shorter text is a placeholder ("none", "EMPTY") that may stand anywhere, and no secret."""
_QUOTED = 16
"""Of longer keys the beginning is hidden too, where a server quotes no more than that."""


class Key:
    """A server's key. ``reveal`` is called in one place: where a request's header is made."""

    __slots__ = ("_text",)

    def __init__(self, text: str, model: str = "a model") -> None:
        """Raises ModelKeyMissing, without the text, for one that no header can hold."""
        if not text.isascii() or not text.isprintable() or " " in text:
            right = "printable ASCII without blanks would be right"
            raise ModelKeyMissing(model=model, problem="its key holds what no HTTP header can", right=right)
        self._text = text

    def reveal(self) -> str:
        """The text itself; a server without keys is sent a dash."""
        return self._text or "-"

    def scrub(self, text: str) -> str:
        """``text`` without the key, whole or, of a long one, its beginning."""
        if len(self._text) < _WORD:
            return text
        least = _QUOTED - 4 if len(self._text) >= _QUOTED else len(self._text)
        for end in range(len(self._text), least - 1, -1):
            text = text.replace(self._text[:end], HIDDEN)
        return text

    def __repr__(self) -> str:
        return f"Key({HIDDEN})"

    __str__ = __repr__

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a key is not pickled")


def key_of(spec: ModelSpec) -> Key:
    """A model's key, read where its configuration says. Raises ModelKeyMissing."""
    if spec.key_env:
        text = os.environ.get(spec.key_env, "").strip()
        if not text:
            problem, right = (
                f"the environment has no {spec.key_env}",
                f"{spec.key_env} set for serve and its workers",
            )
            raise ModelKeyMissing(model=spec.name, problem=problem, right=f"{right} would be right")
        return Key(text, spec.name)
    if spec.key_file:
        try:
            return Key(Path(spec.key_file).expanduser().read_text(encoding="utf-8").strip(), spec.name)
        except (OSError, UnicodeDecodeError):
            right = "a file that its workers may read would be right"
            raise ModelKeyMissing(model=spec.name, problem="its key_file cannot be read", right=right) from None
    return Key("", spec.name)
