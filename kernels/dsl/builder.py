"""From lark's tree to the syntax tree: one method a rule of the grammar.

It joins what belongs together (``x`` and ``.T`` are the name ``x.T``; ``-`` and ``1`` the number -1) and tells a stage
from a bare view. It knows no tensor and no size: what names mean is the checker's business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from lark import Token, v_args
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from kernels.dsl.errors import DslError, NumberRange, StageForm, UnknownFunction
from kernels.dsl.syntax import (
    Access,
    Argument,
    Assign,
    Binary,
    Call,
    Keyword,
    Knob,
    Link,
    Name,
    Number,
    Parameter,
    Program,
    Sequence,
    Span,
    Text,
    TypeExpr,
    Unary,
)
from kernels.dsl.views import VIEW_NAMES

_LARGEST = 2**63
_LONGEST_LITERAL = 400
_NOWHERE = Span(1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class _Group:
    """Children of a rule that is only a part of another."""

    kind: str
    items: tuple[Any, ...]


def span_of(meta: Meta | Token) -> Span:
    """The place of a tree or a token; the start of the text for a rule that matched nothing."""
    if isinstance(meta, Meta) and meta.empty:
        return _NOWHERE
    return Span(meta.line or 1, meta.column or 1, meta.end_line or 1, meta.end_column or 1)


@v_args(meta=True)
class Builder(Transformer_NonRecursive[Any, Any]):
    """Builds the nodes and collects the errors that need no names; the caller raises them."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[DslError] = []

    def program(self, meta: Meta, children: list[Any]) -> Program:
        name, *rest = children
        groups = {item.kind: item.items for item in rest if isinstance(item, _Group)}
        return Program(
            name=name.text,
            parameters=groups.get("parameters", ()),
            results=groups["types"],
            stages=tuple(item for item in rest if isinstance(item, Assign)),
            outputs=groups["returns"],
            span=span_of(meta),
        )

    def parameters(self, _: Meta, children: list[Any]) -> _Group:
        return _Group("parameters", tuple(children))

    def types(self, _: Meta, children: list[Any]) -> _Group:
        return _Group("types", tuple(children))

    def returns(self, _: Meta, children: list[Any]) -> _Group:
        return _Group("returns", tuple(children))

    def extents(self, _: Meta, children: list[Any]) -> _Group:
        return _Group("extents", tuple(children))

    def arguments(self, _: Meta, children: list[Any]) -> _Group:
        return _Group("arguments", tuple(children))

    def annotation(self, _: Meta, children: list[Any]) -> _Group:
        return _Group("annotation", children[0].items)

    def parameter(self, meta: Meta, children: list[Any]) -> Parameter:
        return Parameter(children[0].text, children[1], span_of(meta))

    def type(self, meta: Meta, children: list[Any]) -> TypeExpr:
        extents = children[1].items if len(children) > 1 else ()
        return TypeExpr(children[0].text, tuple(self._extent(token) for token in extents), span_of(meta))

    def _extent(self, token: Token) -> int | str:
        if token.type == "NAME":
            return str(token)
        value = self._literal(token)
        if isinstance(value, int):
            return value
        self.errors.append(NumberRange(span_of(token), found=str(token)))
        return 1

    def statement(self, meta: Meta, children: list[Any]) -> Assign:
        target, value, *tail = children
        links = tuple(item for item in tail if isinstance(item, Link))
        results = next((item.items for item in tail if isinstance(item, _Group) and item.kind == "annotation"), ())
        once = any(isinstance(item, _Group) and item.kind == "mark" for item in tail)
        op, args, kwargs, knobs = self._stage(value)
        return Assign(target.text, op, args, kwargs, knobs, links, once, span_of(meta), results)

    def _stage(self, value: Argument) -> tuple[str, tuple[Argument, ...], tuple[Keyword, ...], tuple[Knob, ...]]:
        """A stage's call, its knobs unwound, or a bare view."""
        base: Argument = value
        knobs: list[Knob] = []
        while isinstance(base, Access):
            knobs.append(Knob(base.attribute, base.args or (), base.span))
            base = base.base
        if isinstance(base, Call) and not is_view(base.function):
            self._refuse_plain_attributes(value)
            if base.function == "view":
                mend = "a view is written behind its tensor: t = x.reshape(4, -1)"
                self.errors.append(StageForm(base.span, found="view", what="view(…) is no stage", mend=mend))
            return base.function, base.args, base.kwargs, tuple(reversed(knobs))
        if not isinstance(base, Name | Call):
            what = (
                "a number" if isinstance(base, Number) else "a text" if isinstance(base, Text) else "an expression"
            )
            mend = "write a stage, as y = map(EXPRESSION)"
            self.errors.append(StageForm(base.span, what=f"{what} is no stage", mend=mend))
        return "view", (value,), (), ()

    def _refuse_plain_attributes(self, value: Argument) -> None:
        while isinstance(value, Access):
            if value.args is None:
                what = f".{value.attribute} behind a stage is neither a knob nor a view"
                mend = (
                    f"knobs have parentheses; a view of the result is a stage of its own: t = y.{value.attribute}"
                )
                self.errors.append(StageForm(value.span, found=value.attribute, what=what, mend=mend))
            value = value.base

    def mark(self, meta: Meta, children: list[Any]) -> _Group:
        if children[0].text != "once":
            legal = "the only mark is @once"
            self.errors.append(
                UnknownFunction(span_of(meta), kind="mark", found=f"@{children[0].text}", legal=legal)
            )
        return _Group("mark", ())

    def link(self, meta: Meta, children: list[Any]) -> Link:
        call = children[0]
        return Link(call.function, call.args, call.kwargs, span_of(meta))

    def call(self, meta: Meta, children: list[Any]) -> Call:
        args, kwargs = _split(children[1:])
        return Call(children[0].text, args, kwargs, span_of(meta))

    def keyword(self, meta: Meta, children: list[Any]) -> Keyword:
        return Keyword(children[0].text, children[1], span_of(meta))

    def attribute(self, meta: Meta, children: list[Any]) -> Argument:
        base, token = children
        name = str(token)[1:]
        if isinstance(base, Name):
            return Name(f"{base.text}.{name}", span_of(meta))
        return Access(base, name, None, _span_from(token, meta))

    def method(self, meta: Meta, children: list[Any]) -> Argument:
        base, token, *rest = children
        name = str(token)[1:]
        args, kwargs = _split(rest)
        if isinstance(base, Name):
            return Call(f"{base.text}.{name}", args, kwargs, span_of(meta))
        for keyword in kwargs:
            mend = "give the values by position"
            what = f".{name}(…) with {keyword.name}="
            self.errors.append(StageForm(keyword.span, found=keyword.name, what=what, mend=mend))
        return Access(base, name, args, _span_from(token, meta))

    def binary(self, meta: Meta, children: list[Any]) -> Binary:
        left, operator, right = children
        return Binary(str(operator), left, right, span_of(meta))

    def negate(self, meta: Meta, children: list[Any]) -> Argument:
        operand = children[-1]
        if isinstance(operand, Number):
            return Number(-operand.value, span_of(meta))
        return Unary("-", operand, span_of(meta))

    def sequence(self, meta: Meta, children: list[Any]) -> Sequence:
        return Sequence(tuple(children), span_of(meta))

    def name(self, meta: Meta, children: list[Any]) -> Name:
        return Name(str(children[0]), span_of(meta))

    def number(self, meta: Meta, children: list[Any]) -> Number:
        return Number(self._literal(children[0]), span_of(meta))

    def text(self, meta: Meta, children: list[Any]) -> Text:
        return Text(str(children[0])[1:-1], span_of(meta))

    def _literal(self, token: Token) -> int | float:
        written = str(token)
        whole = written.isdigit()
        if len(written) <= _LONGEST_LITERAL:
            value = int(written) if whole else float(written)
            if (value < _LARGEST) if whole else math.isfinite(value):
                return value
        self.errors.append(NumberRange(span_of(token), found=written if len(written) < 40 else written[:40] + "…"))
        return 0


def is_view(function: str) -> bool:
    """Whether a call's dotted name ends in a view of something, as ``x.reshape``."""
    base, _, last = function.rpartition(".")
    return base != "" and last in VIEW_NAMES and not function.startswith("torch.")


def _split(children: list[Any]) -> tuple[tuple[Argument, ...], tuple[Keyword, ...]]:
    items = children[0].items if children else ()
    args = tuple(item for item in items if not isinstance(item, Keyword))
    return args, tuple(item for item in items if isinstance(item, Keyword))


def _span_from(token: Token, meta: Meta) -> Span:
    whole = span_of(meta)
    return Span(token.line or 1, token.column or 1, whole.end_line, whole.end_column)
