"""A key that cannot be shown by accident: not by ``repr``, not in an f-string, not in JSON."""

from __future__ import annotations

from agent.llm.errors import ModelKeyMissing

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
