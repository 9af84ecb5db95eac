"""A tokenizer of C++: comments, strings, raw strings, line continuations and preprocessor lines told apart.

No preprocessor: a macro's body is tokenised where it is defined, ``#if 0`` is left out, and every other branch is
kept. Text that is no C++ gives tokens all the same; nothing raises.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a token is."""

    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    CHARACTER = "character"
    PUNCTUATION = "punctuation"
    DIRECTIVE = "directive"


@dataclass(frozen=True, slots=True)
class Token:
    """``text`` is as written; of a string what is between its quotes, of a directive the line. ``line`` is from 1."""

    kind: Kind
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment's text without its marks, and its first and last line."""

    text: str
    line: int
    last: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """All tokens but those of directives' bodies, the directives, the bodies of macros, and the comments."""

    code: tuple[Token, ...]
    directives: tuple[Token, ...]
    macros: dict[str, tuple[Token, ...]]
    comments: tuple[Comment, ...]


_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_PATTERN = re.compile(
    r"""
    (?P<space>[ \t\r\f\v]+)
  | (?P<newline>\n)
  | (?P<line_comment>//[^\n]*)
  | (?P<block_comment>/\*.*?(?:\*/|\Z))
  | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\((?P<raw_text>.*?)(?:\)(?P=mark)"|\Z))
  | (?P<string>(?:u8|[uUL])?"(?P<string_text>(?:\\.|[^"\\\n])*)(?:"|(?=\n)|\Z))
  | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])*(?:'|(?=\n)|\Z))
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<name>[^\W\d]\w*)
  | (?P<punctuation><<<|>>>|<<=|>>=|<=>|->\*|\.\.\.|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_TOKENS = {
    "string": Kind.STRING,
    "raw": Kind.STRING,
    "character": Kind.CHARACTER,
    "number": Kind.NUMBER,
    "name": Kind.NAME,
    "punctuation": Kind.PUNCTUATION,
}
_DEFINE = re.compile(r"#\s*define\s+([^\W\d]\w*)(\([^)]*\))?(.*)", re.DOTALL)
_IF = re.compile(r"#\s*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(.*)", re.DOTALL)


def tokenize(text: str, line: int = 1) -> Tokens:
    """The tokens of a text whose first line is number ``line``."""
    return _Scan(text, line).run()


class _Scan:
    def __init__(self, text: str, line: int) -> None:
        # Lines that are joined by a backslash keep their place: each splice becomes two letters that count a line.
        text = text.replace("\ue000", " ").replace("\ue001", " ")
        self.text = _SPLICE.sub("\ue000\ue001", text) if "\\" in text else text
        self.line = line
        self.code: list[Token] = []
        self.directives: list[Token] = []
        self.macros: dict[str, tuple[Token, ...]] = {}
        self.comments: list[Comment] = []
        self.branches: list[bool] = []
        self.dead = 0
        self.fresh = True

    def run(self) -> Tokens:
        """Scan to the end."""
        at, end = 0, len(self.text)
        while at < end:
            letter = self.text[at]
            if letter == "#" and self.fresh:
                at = self._directive(at)
            elif letter in "\ue000\ue001":
                self.line += letter == "\ue001"
                at += 1
            else:
                at = self._token(at)
        return Tokens(tuple(self.code), tuple(self.directives), self.macros, tuple(self.comments))

    def _token(self, at: int) -> int:
        match = _PATTERN.match(self.text, at)
        assert match is not None  # the last alternative takes any letter
        kind, whole, first = match.lastgroup or "", match.group(), self.line
        kind = "raw" if match["raw"] is not None else "string" if match["string"] is not None else kind
        self.line += whole.count("\n") + whole.count("\ue001")
        if kind == "newline":
            self.fresh = True
        elif kind in ("line_comment", "block_comment"):
            marks = slice(2, -2) if whole.endswith("*/") and kind == "block_comment" else slice(2, None)
            self.comments.append(Comment(whole[marks], first, self.line))
        elif kind != "space":
            self.fresh = False
            self._keep(Token(_TOKENS[kind], _inner(match, kind, whole), first))
        return match.end()

    def _keep(self, token: Token) -> None:
        if not self.dead:
            self.code.append(token)

    def _directive(self, at: int) -> int:
        """To the end of its line; a comment in it is none of it, and a block comment may go on."""
        first, parts = self.line, []
        while at < len(self.text) and self.text[at] != "\n":
            match = _PATTERN.match(self.text, at)
            assert match is not None
            whole, at = match.group(), match.end()
            self.line += whole.count("\n") + whole.count("\ue001")
            if match["line_comment"] is not None or match["block_comment"] is not None:
                self.comments.append(Comment(whole[2:].removesuffix("*/"), first, self.line))
                parts.append(" ")
            else:
                parts.append("" if whole == "\ue001" else " " if whole == "\ue000" else whole)
        text = "".join(parts).strip()
        self._branch(text)
        if not self.dead:
            self.directives.append(Token(Kind.DIRECTIVE, text, first))
            if (define := _DEFINE.match(text)) is not None:
                self.macros[define[1]] = tokenize(define[3].strip().lstrip("#"), first).code
        return at

    def _branch(self, text: str) -> None:
        match = _IF.match(text)
        if match is None:
            return
        word, condition = match[1], match[2].strip()
        if word in ("if", "ifdef", "ifndef"):
            self.branches.append(word == "if" and condition in ("0", "false", "(0)"))
            self.dead += self.branches[-1]
        elif self.branches:
            # Of a branch that is left out the next one is kept.
            self.dead -= self.branches.pop()
            if word != "endif":
                self.branches.append(False)


def _inner(match: re.Match[str], kind: str, whole: str) -> str:
    if kind == "raw":
        return (match["raw_text"] or "").replace("\ue000\ue001", "\\\n")
    if kind == "string":
        return (match["string_text"] or "").replace("\ue000", "").replace("\ue001", "")
    return whole.replace("\ue000", "").replace("\ue001", "")
