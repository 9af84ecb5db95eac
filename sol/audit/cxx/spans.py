"""Steps through tokens: brackets, statements and arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sol.audit.cxx.tokens import Kind, Token

_OPEN = {"(": ")", "[": "]", "{": "}"}
_FAR = 400
"""Words and marks of one statement that are read behind its sign."""
_SHUT = frozenset(_OPEN.values())


def closing(tokens: Sequence[Token], opening: int) -> int:
    """The index of the bracket that closes the one at ``opening``; the last index where none does."""
    depth = 0
    for index in range(opening, len(tokens)):
        token = tokens[index]
        if token.kind is not Kind.PUNCTUATION:
            continue
        depth += (token.text in _OPEN) - (token.text in _SHUT)
        if depth <= 0:
            return index
    return max(len(tokens) - 1, opening)


def closings(tokens: Sequence[Token]) -> dict[int, int]:
    """What ``closing`` gives for every opening bracket, in one pass."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind is not Kind.PUNCTUATION:
            continue
        if token.text in _OPEN:
            opened.append(index)
        elif token.text in _SHUT and opened:
            found[opened.pop()] = index
    last = len(tokens) - 1
    return found | {index: max(last, index) for index in opened}


def nesting(tokens: Sequence[Token]) -> int:
    """How deep brackets stand within each other at most; those that nothing closes count to the end."""
    depth = deepest = 0
    for token in tokens:
        if token.kind is Kind.PUNCTUATION:
            depth = max(0, depth + (token.text in _OPEN) - (token.text in _SHUT))
            deepest = max(deepest, depth)
    return deepest


def until(words: Sequence[str], mark: str, begin: int) -> int:
    """The index of the next mark from ``begin`` on; where it is far or there is none, as far as is read."""
    end = min(len(words), begin + _FAR)
    for index in range(begin, end):
        if words[index] == mark:
            return index
    return end


def split(tokens: Sequence[Token], mark: str = ",") -> list[Sequence[Token]]:
    """Parts between marks outside of brackets; none of no tokens."""
    parts: list[Sequence[Token]] = []
    depth = begin = 0
    for index, token in enumerate(tokens):
        if token.kind is Kind.PUNCTUATION:
            depth += (token.text in _OPEN) - (token.text in _SHUT)
            if token.text == mark and depth == 0:
                parts.append(tokens[begin:index])
                begin = index + 1
    return [*parts, tokens[begin:]] if tokens else parts


def statements(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Pieces between ``;``, ``{`` and ``}``; a ``;`` within parentheses ends none."""
    depth = begin = 0
    for index, token in enumerate(tokens):
        if token.kind is not Kind.PUNCTUATION:
            continue
        depth += (token.text in "([") - (token.text in ")]")
        if token.text in (";", "{", "}") and (depth <= 0 or token.text != ";"):
            if index > begin:
                yield tokens[begin:index]
            begin = index + 1
            depth = 0
    if begin < len(tokens):
        yield tokens[begin:]


def names(tokens: Sequence[Token]) -> set[str]:
    """The names among tokens."""
    return {token.text for token in tokens if token.kind is Kind.NAME}


def texts(tokens: Sequence[Token]) -> list[str]:
    """What is written, one a token."""
    return [token.text for token in tokens]


def alive(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Without the branches of ``if (false)``, ``if (0)`` and ``while (0)``."""
    kept: list[Token] = []
    index = 0
    while index < len(tokens):
        asks = tokens[index].text in ("if", "while")
        if asks and texts(tokens[index + 1 : index + 4]) in (["(", "false", ")"], ["(", "0", ")"]):
            index = _behind(tokens, index + 4)
            if index < len(tokens) and tokens[index].text == "else":
                index += 1
        else:
            kept.append(tokens[index])
            index += 1
    return tuple(kept)


def _behind(tokens: Sequence[Token], index: int) -> int:
    """Behind the statement or block that begins at ``index``."""
    if index < len(tokens) and tokens[index].text == "{":
        return closing(tokens, index) + 1
    while index < len(tokens) and tokens[index].text != ";":
        index = closing(tokens, index) + 1 if tokens[index].text in _OPEN else index + 1
    return index + 1
