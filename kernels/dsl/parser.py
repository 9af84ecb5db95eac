"""Text to syntax tree. Any text gives a ``Program`` or raises ``ProgramErrors``; nothing else.

It does not know what names mean: see ``check``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from kernels.dsl.builder import Builder
from kernels.dsl.errors import DslError, NestingDepth, ProgramErrors, SourceSize, Syntax
from kernels.dsl.syntax import Argument, Program, Span

SOURCE_LIMIT = 40 * 1024
"""Characters of text that are read: some 300 stages with all their knobs, and little enough for a web request."""
DEPTH_LIMIT = 64
"""Levels of brackets, and of operators in one expression."""
_ERROR_LIMIT = 20

_BRACKETS = re.compile(r"#[^\n]*|\"[^\"\n]*\"|'[^'\n]*'|[(\[]|[)\]]")
_STATEMENT = re.compile(r"^[ \t]*(?:(?P<return>return)\b|[A-Za-z_][\w.]*[ \t]*=)", re.MULTILINE | re.ASCII)

_SPOKEN = {
    "NAME": "a name",
    "ATTRIBUTE": "'.'",
    "NUMBER": "a number",
    "TEXT": "a quoted text",
    "_PROGRAM": "'program'",
    "_RETURN": "'return'",
    "_ARROW": "'->'",
    "_CHAIN": "'>>'",
    "_EQUAL": "'='",
    "_COLON": "':'",
    "_COMMA": "','",
    "_AT": "'@once'",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "SLASH": "'/'",
    "_LPAR": "'('",
    "_RPAR": "')'",
    "_LSQB": "'['",
    "_RSQB": "']'",
    "$END": "the end of the program",
}


_HINTS = {
    ">": " (comparisons are functions: gt(a, b), ge(a, b))",
    "<": " (comparisons are functions: lt(a, b), le(a, b))",
    "=": " (an expression compares with eq(a, b))",
    "*": " (a power is pow(a, b))",
    "@": " (a product of matrices is a stage: gemm(a, b))",
    ";": " (statements need no end)",
}
"""What people from other languages meant."""


@cache
def _lark() -> Lark:
    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=["program", "statement", "returns", "value"],
        propagate_positions=True,
        maybe_placeholders=False,
    )


def parse(text: str) -> Program:
    """The program that ``text`` says; raises ``ProgramErrors`` with every error found."""
    _check_limits(text)
    try:
        tree = _lark().parse(text, start="program")
    except UnexpectedInput as error:
        raise ProgramErrors(_all_syntax_errors(text, error)) from None
    builder = Builder()
    program: Program = builder.transform(tree)
    errors = builder.errors + list(_too_deep(program))
    if errors:
        raise ProgramErrors(tuple(errors))
    return dataclasses.replace(program, source=text)


def parse_value(text: str) -> Argument:
    """One value: an expression, a view, a number, as it may stand between parentheses."""
    _check_limits(text)
    try:
        tree = _lark().parse(text, start="value")
    except UnexpectedInput as error:
        raise ProgramErrors((_syntax_error(text, error),)) from None
    builder = Builder()
    value: Argument = builder.transform(tree)
    errors = builder.errors + list(_too_deep(value))
    if errors:
        raise ProgramErrors(tuple(errors))
    return value


def _check_limits(text: str) -> None:
    if len(text) > SOURCE_LIMIT:
        raise ProgramErrors((SourceSize(Span(1, 1, 1, 2), found=len(text), limit=SOURCE_LIMIT),))
    depth = 0
    for match in _BRACKETS.finditer(text):
        if match[0] in "([":
            depth += 1
        elif match[0] in ")]":
            depth = max(0, depth - 1)
        if depth > DEPTH_LIMIT:
            raise ProgramErrors((NestingDepth(_place(text, match.start()), limit=DEPTH_LIMIT, found=depth),))


def _place(text: str, offset: int) -> Span:
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    return Span(line, column, line, column + 1)


def _too_deep(root: Any) -> Iterator[DslError]:
    """Errors for what nests too deep, found without recursion: the passes after this one may recurse."""
    pending: list[tuple[Any, int]] = [(root, 0)]
    while pending:
        node, depth = pending.pop()
        if isinstance(node, tuple):
            pending.extend((item, depth) for item in node)
        elif parts := _parts(node.__class__):
            if depth > DEPTH_LIMIT:
                yield NestingDepth(getattr(node, "span", root.span), limit=DEPTH_LIMIT, found=depth)
                return
            pending.extend((getattr(node, part), depth + 1) for part in parts)


@cache
def _parts(kind: type) -> tuple[str, ...]:
    """The fields of a kind of node, its place left out; none for what is no node."""
    if kind is Span or not dataclasses.is_dataclass(kind):
        return ()
    return tuple(field.name for field in dataclasses.fields(kind) if field.name != "span")


# What a syntax error says.


def _syntax_error(text: str, error: UnexpectedInput, lines_before: int = 0) -> Syntax:
    if isinstance(error, UnexpectedToken):
        at_end = error.token.type == "$END"
        found = "the end of the text" if at_end else repr(str(error.token))
        legal = set(error.accepts or error.expected)
        length = 1 if at_end else len(str(error.token))
    else:
        assert isinstance(error, UnexpectedCharacters)
        found, length = repr(error.char), 1
        legal = set(error.allowed or ())
        at_end = False
    place = _end_of(text) if at_end else Span(error.line, error.column, error.line, error.column + length)
    place = dataclasses.replace(place, line=place.line + lines_before, end_line=place.end_line + lines_before)
    expected = _spoken(legal)
    what = f"expected {_short(expected)}, found {found}"
    hint = _HINTS.get(found.strip("'"), "")
    return Syntax(place, what=what, found=found, legal=(", ".join(expected) or "nothing more here") + hint)


def _end_of(text: str) -> Span:
    return _place(text, len(text.rstrip()))


def _spoken(terminals: set[str]) -> list[str]:
    order = {name: number for number, name in enumerate(_SPOKEN)}
    known = sorted((name for name in terminals if name in _SPOKEN), key=order.__getitem__)
    return [_SPOKEN[name] for name in known]


def _short(expected: list[str]) -> str:
    closing = [word for word in expected if word in ("')'", "']'")]
    if len(expected) > 3 and closing:
        return closing[0]
    return " or ".join(expected[:3]) + (" …" if len(expected) > 3 else "") if expected else "nothing more"


def _all_syntax_errors(text: str, first: UnexpectedInput) -> tuple[DslError, ...]:
    """The first error, and those of each statement after it, read alone."""
    errors: list[DslError] = [_syntax_error(text, first)]
    starts = [match for match in _STATEMENT.finditer(text) if _outside_brackets(text, match.start())]
    line_of_first = errors[0].line
    for number, match in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        lines_before = text.count("\n", 0, match.start())
        if lines_before + 1 <= line_of_first or len(errors) >= _ERROR_LIMIT:
            continue
        piece = text[match.start() : end]
        try:
            _lark().parse(piece, start="returns" if match["return"] else "statement")
        except UnexpectedInput as error:
            errors.append(_syntax_error(piece, error, lines_before))
    return tuple(errors)


def _outside_brackets(text: str, offset: int) -> bool:
    """Whether a line begins a statement; a keyword argument on a line of its own (``  dim=1``) does not."""
    end = text.find("\n", offset)
    line = text[offset : end if end >= 0 else len(text)]
    before = offset
    while before and text[before - 1].isspace():
        before -= 1
    inside = before > 0 and text[before - 1] in ",(["
    return (not inside and "=" in line) or line.lstrip().startswith("return")
