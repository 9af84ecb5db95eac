"""Syntax tree to canonical text: one stage a line, one space where one is needed, brackets only where they matter.

``parse(format_program(p))`` is ``p`` up to places; comments and the author's line breaks are not kept.
"""

from __future__ import annotations

import dataclasses
from typing import Any

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
    Program,
    Sequence,
    Span,
    Text,
    TypeExpr,
    Unary,
)

_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}
_UNARY = 3
_POSTFIX = 4


def format_program(program: Program) -> str:
    """The canonical text, ending in a line end."""
    parameters = ", ".join(f"{p.name}: {format_type(p.type)}" for p in program.parameters)
    results = ", ".join(map(format_type, program.results))
    lines = [f"program {program.name}({parameters}) -> {results}"]
    lines += [f"  {format_stage(stage)}" for stage in program.stages]
    lines.append(f"  return {', '.join(map(format_value, program.outputs))}")
    return "\n".join(lines) + "\n"


def format_type(node: TypeExpr) -> str:
    """``f32[M, 4]``."""
    return f"{node.dtype}[{', '.join(map(str, node.shape))}]"


def format_stage(stage: Assign) -> str:
    """One statement on one line."""
    head = (
        format_value(stage.args[0]) if stage.op == "view" else f"{stage.op}({_arguments(stage.args, stage.kwargs)})"
    )
    text = f"{stage.target} = {head}" + "".join(map(format_knob, stage.knobs))
    text += "".join(f" >> {format_link(link)}" for link in stage.chain)
    if stage.results:
        text += f" -> {', '.join(map(format_type, stage.results))}"
    return text + (" @once" if stage.once else "")


def format_knob(knob: Knob) -> str:
    """``.tile(128, 256, 64)``."""
    return f".{knob.name}({_arguments(knob.args, ())})"


def format_link(link: Link) -> str:
    """``bias(b)``, without the arrow."""
    return f"{link.name}({_arguments(link.args, link.kwargs)})"


def format_value(node: Argument) -> str:
    """A value as it stands between parentheses."""
    return _format(node)[0]


def _arguments(args: tuple[Argument, ...], kwargs: tuple[Keyword, ...]) -> str:
    return ", ".join([*map(format_value, args), *(f"{k.name}={format_value(k.value)}" for k in kwargs)])


def _format(node: Argument) -> tuple[str, int]:
    """The text and how tightly it binds."""
    match node:
        case Name():
            return node.text, _POSTFIX
        case Number():
            return repr(node.value), _UNARY if str(node.value).startswith("-") else _POSTFIX
        case Text():
            quote = "'" if '"' in node.value else '"'
            return f"{quote}{node.value}{quote}", _POSTFIX
        case Sequence():
            return f"[{', '.join(map(format_value, node.items))}]", _POSTFIX
        case Unary():
            return f"{node.operator}{_within(node.operand, _UNARY)}", _UNARY
        case Binary():
            level = _PRECEDENCE[node.operator]
            return f"{_within(node.left, level)} {node.operator} {_within(node.right, level + 1)}", level
        case Call():
            return f"{node.function}({_arguments(node.args, node.kwargs)})", _POSTFIX
        case Access():
            tail = "" if node.args is None else f"({_arguments(node.args, ())})"
            return f"{_within(node.base, _POSTFIX)}.{node.attribute}{tail}", _POSTFIX


def _within(node: Argument, level: int) -> str:
    text, own = _format(node)
    return text if own >= level else f"({text})"


def same(left: Program, right: Program) -> bool:
    """Whether two programs say the same, wherever in a text they say it."""
    return bool(without_places(left) == without_places(right))


def without_places(node: Any) -> Any:
    """``node`` with every ``Span`` the same, for comparing."""
    if isinstance(node, Span):
        return Span(0, 0, 0, 0)
    if isinstance(node, tuple):
        return tuple(without_places(item) for item in node)
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        fields = {field.name: without_places(getattr(node, field.name)) for field in dataclasses.fields(node)}
        return type(node)(**fields)
    return node
