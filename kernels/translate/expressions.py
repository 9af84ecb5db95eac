"""Elementwise expressions as the language writes them: a small tree and its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Num:
    """A number."""

    value: float | int


@dataclass(frozen=True, slots=True)
class Ref:
    """A tensor: a node's name and which of its results, or an input's or parameter's name and 0."""

    name: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class Fn:
    """A function of the language's table: tensors first, then its numbers."""

    name: str
    args: tuple[Expr, ...]
    params: tuple[float | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Op:
    """``left + right``, with ``+ - * /``."""

    symbol: str
    left: Expr
    right: Expr


Expr: TypeAlias = "Num | Ref | Fn | Op"

_LEVEL = {"+": 1, "-": 1, "*": 2, "/": 2}
_ATOM = 4


def written(value: Any) -> str:
    """A number as the language writes it."""
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return "inf" if value > 0 else "-inf"
        return repr(int(value)) if value.is_integer() and abs(value) < 1e6 else repr(value)
    return repr(value)


def text(expr: Expr, name: Callable[[Ref], str]) -> str:
    """The expression's text; ``name`` gives the text of each tensor."""
    return _text(expr, name)[0]


def _text(expr: Expr, name: Callable[[Ref], str]) -> tuple[str, int]:
    match expr:
        case Num():
            shown = written(expr.value)
            return shown, 3 if shown.startswith("-") else _ATOM
        case Ref():
            return name(expr), _ATOM
        case Fn():
            parts = [*(_text(arg, name)[0] for arg in expr.args), *(written(value) for value in expr.params)]
            return f"{expr.name}({', '.join(parts)})", _ATOM
        case Op():
            level = _LEVEL[expr.symbol]
            left = _within(expr.left, level, name)
            right = _within(expr.right, level + 1, name)
            return f"{left} {expr.symbol} {right}", level


def _within(expr: Expr, level: int, name: Callable[[Ref], str]) -> str:
    shown, own = _text(expr, name)
    return shown if own >= level else f"({shown})"


def replaced(expr: Expr, change: Callable[[Ref], Expr]) -> Expr:
    """The expression with every tensor replaced."""
    match expr:
        case Ref():
            return change(expr)
        case Fn():
            return Fn(expr.name, tuple(replaced(arg, change) for arg in expr.args), expr.params)
        case Op():
            return Op(expr.symbol, replaced(expr.left, change), replaced(expr.right, change))
        case Num():
            return expr


def tensors(expr: Expr) -> list[Ref]:
    """Every tensor in it, from left to right, as often as it stands there."""
    match expr:
        case Ref():
            return [expr]
        case Fn():
            return [ref for arg in expr.args for ref in tensors(arg)]
        case Op():
            return [*tensors(expr.left), *tensors(expr.right)]
        case Num():
            return []
