"""Source text to lines of HTML with a handful of classes, so that pages need no inline style.

k keyword, y type or operation, m number, s text, c comment; everything else is plain. Escapes what it is given.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape

from pygments.lexer import Lexer, RegexLexer, words
from pygments.lexers.c_cpp import CppLexer
from pygments.lexers.c_like import CudaLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, Text, _TokenType

LARGEST = 400_000
"""Characters beyond which a text is shown plain: colouring it would take longer than reading it."""


class MuLexer(RegexLexer):
    """μCUTLASS. Stages, links and knobs are shown as operations wherever they are called."""

    name = "μCUTLASS"
    aliases = ["mu"]
    tokens = {
        "root": [
            (r"#[^\n]*", Comment.Single),
            (words(("program", "return"), suffix=r"\b"), Keyword),
            (r"@[A-Za-z_]\w*", Keyword),
            (r">>|->", Keyword),
            (r"(f64|f32|tf32|f16|bf16|f8e4m3|f8e5m2|i64|i32|i16|i8|u8|bool)\b", Keyword.Type),
            (r"\"[^\"\n]*\"|'[^'\n]*'", String),
            (r"(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?", Number),
            (r"\.?[A-Za-z_][\w.]*(?=\s*\()", Name.Class),
            (r"\.?[A-Za-z_][\w.]*", Name),
            (r"\s+", Text.Whitespace),
            (r".", Punctuation),
        ]
    }


def _lexer(language: str) -> Lexer:
    if language == "mu":
        return MuLexer(stripnl=False, ensurenl=False)
    if language in ("python", "py"):
        return PythonLexer(stripnl=False, ensurenl=False)
    if language in ("cuda", "cu"):
        return CudaLexer(stripnl=False, ensurenl=False)  # type: ignore[no-untyped-call]
    return CppLexer(stripnl=False, ensurenl=False)  # type: ignore[no-untyped-call]


_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment.Preproc, "k"),
    (Comment.PreprocFile, "s"),
    (Comment, "c"),
    (Keyword.Type, "y"),
    (Keyword, "k"),
    (Name.Class, "y"),
    (Name.Builtin, "y"),
    (Name.Decorator, "k"),
    (Number, "m"),
    (String, "s"),
)


def _class_of(kind: _TokenType) -> str:
    return next((name for known, name in _CLASSES if kind[: len(known)] == known), "")


@lru_cache(maxsize=128)
def highlight(source: str, language: str) -> tuple[str, ...]:
    """One string of safe HTML a line. ``language``: one of candidates (mu, py, cu, cpp), or c++, cuda, python."""
    if len(source) > LARGEST:
        return tuple(escape(line) for line in source.split("\n"))
    lines: list[list[str]] = [[]]
    for kind, value in _lexer(language).get_tokens(source):
        name = _class_of(kind)
        for index, part in enumerate(value.split("\n")):
            if index:
                lines.append([])
            if part:
                text = escape(part)
                lines[-1].append(f'<span class="{name}">{text}</span>' if name else text)
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return tuple("".join(parts) for parts in lines)
