"""The syntax tree: what a program says, before anything is known of sizes or targets.

Every node carries its place in the text, so that each later message can point at it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Span:
    """A place in the text: 1-based lines and columns, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Name:
    """A name as written, dots and all: ``x``, ``gemm.weight``, ``f16``, ``wh.T``, ``auto``."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or a float."""

    value: int | float
    span: Span


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted string."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Sequence:
    """``[a, b]`` or ``(a, b)``."""

    items: tuple[Argument, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Unary:
    """``-a``."""

    operator: str
    operand: Argument
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """``a + b``, with ``+ - * /``."""

    operator: str
    left: Argument
    right: Argument
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """``name(arguments)``: a function of an expression, or a view such as ``x.reshape(4, 8)``."""

    function: str
    args: tuple[Argument, ...]
    kwargs: tuple[Keyword, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Access:
    """A view of something that is not a plain name: ``x.reshape(4, 8).T``; ``args`` is None without parentheses."""

    base: Argument
    attribute: str
    args: tuple[Argument, ...] | None
    span: Span


Argument: TypeAlias = "Name | Number | Text | Sequence | Unary | Binary | Call | Access"


@dataclass(frozen=True, slots=True)
class Keyword:
    """``name=value`` in an argument list."""

    name: str
    value: Argument
    span: Span


@dataclass(frozen=True, slots=True)
class Knob:
    """``.tile(128, 256, 64)`` behind a stage's call."""

    name: str
    args: tuple[Argument, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Link:
    """``>> relu()``: one link of the chain behind a stage."""

    name: str
    args: tuple[Argument, ...]
    kwargs: tuple[Keyword, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Assign:
    """One stage: ``target = op(args).knob(…) >> link(…) @once``.

    A bare view (``t = x.T``) has ``op`` "view" and the view as its only argument. ``results`` are the types that a
    torch stage is annotated with (``-> f32[4, 8]``); with several, the results are called ``target.0``, ``target.1``.
    """

    target: str
    op: str
    args: tuple[Argument, ...]
    kwargs: tuple[Keyword, ...]
    knobs: tuple[Knob, ...]
    chain: tuple[Link, ...]
    once: bool
    span: Span
    results: tuple[TypeExpr, ...] = ()


@dataclass(frozen=True, slots=True)
class TypeExpr:
    """``f32[M, 4]``; an extent is a number or a symbol that the problem binds."""

    dtype: str
    shape: tuple[int | str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Parameter:
    """``gemm.weight: f32[N, K]``."""

    name: str
    type: TypeExpr
    span: Span


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program. ``source`` is the text it was parsed from, or "" for a tree made by hand."""

    name: str
    parameters: tuple[Parameter, ...]
    results: tuple[TypeExpr, ...]
    stages: tuple[Assign, ...]
    outputs: tuple[Argument, ...]
    span: Span
    source: str = field(default="", compare=False)
