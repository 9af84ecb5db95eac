"""Chain expressions as C++ text, and what they load."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from kernels.codegen.cuda.functions import FUNCTIONS
from kernels.codegen.errors import FunctionWithoutCode
from kernels.dsl.ir import Acc, Apply, ChainStep, Const, Expr, Load, Value

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def loads(expr: Expr) -> tuple[Value, ...]:
    """The values that an expression loads, each once, in order of first appearance."""
    found: dict[str, Value] = {}

    def visit(node: Expr) -> None:
        if isinstance(node, Load):
            found.setdefault(node.value.name, node.value)
        elif isinstance(node, Apply):
            for argument in node.args:
                visit(argument)

    visit(expr)
    return tuple(found.values())


def chain_loads(chain: Iterable[ChainStep]) -> tuple[Value, ...]:
    """The values that a chain loads, each once, in order of first appearance."""
    found: dict[str, Value] = {}
    for step in chain:
        for value in loads(step.expr):
            found.setdefault(value.name, value)
    return tuple(found.values())


def functions(expr: Expr) -> set[str]:
    """The functions an expression calls by name (not the infix operators)."""
    if not isinstance(expr, Apply):
        return set()
    called = set() if expr.function in INFIX and len(expr.args) == 2 else {expr.function}
    for argument in expr.args:
        called |= functions(argument)
    return called


def number(value: float, scalar: str) -> str:
    """A constant of type ``scalar``; the text keeps all digits of a double."""
    if math.isnan(value):
        return f"{scalar}(NAN)"
    if math.isinf(value):
        return f"{scalar}({'-' if value < 0 else ''}INFINITY)"
    return f"{scalar}({float(value)!r})"


def text(expr: Expr, names: Mapping[str, str], scalar: str, stage: str, accumulator: str = "acc") -> str:
    """C++ of an expression over variables of type ``scalar``: ``names`` by value name, ``accumulator`` for Acc.

    Raises FunctionWithoutCode for a function the table lacks or calls with the wrong number of arguments.
    """

    def visit(node: Expr) -> str:
        if isinstance(node, Acc):
            return accumulator
        if isinstance(node, Load):
            return names[node.value.name]
        if isinstance(node, Const):
            return number(node.value, scalar)
        return _call(node, visit, scalar, stage)

    return visit(expr)


def _call(node: Apply, visit: Callable[[Expr], str], scalar: str, stage: str) -> str:
    arguments = [visit(argument) for argument in node.args]
    if node.function in INFIX and len(arguments) == 2:
        return f"({arguments[0]} {INFIX[node.function]} {arguments[1]})"
    function = FUNCTIONS.get(node.function)
    missing = len(function.parameters) - len(arguments) if function else 0
    if function is None or not 0 <= missing <= len(function.defaults):
        raise FunctionWithoutCode(
            stage=stage,
            target="cuda",
            function=f"{node.function}/{len(arguments)}",
            legal=", ".join(FUNCTIONS),
        )
    arguments += [number(value, scalar) for value in function.defaults[len(function.defaults) - missing :]]
    return f"fn::{node.function}({', '.join(arguments)})"
