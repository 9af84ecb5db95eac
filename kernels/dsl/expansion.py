"""Elementwise functions written out in the primitives of the function table.

For targets that do not implement a function themselves. It changes no primitive and folds no constants.
"""

from __future__ import annotations

from functools import cache

from kernels.dsl.functions import FUNCTIONS, Function
from kernels.dsl.ir import Apply, Const, Expr
from kernels.dsl.parser import parse_value
from kernels.dsl.syntax import Argument, Binary, Call, Name, Number, Unary

OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}


def expand(expr: Expr, keep: frozenset[str] = frozenset()) -> Expr:
    """``expr`` with every function replaced by its ``expand`` text, but primitives and those named in ``keep``."""
    if not isinstance(expr, Apply):
        return expr
    args = tuple(expand(arg, keep) for arg in expr.args)
    function = FUNCTIONS[expr.function]
    if not function.expand or function.name in keep:
        return Apply(expr.function, args)
    bound = dict(zip(_names(function), args, strict=True))
    return expand(_build(_template(function.name), bound), keep)


@cache
def _template(name: str) -> Argument:
    return parse_value(FUNCTIONS[name].expand)


def _names(function: Function) -> list[str]:
    return [*"xyz"[: function.arity], *(name for name, _ in function.params)]


def _build(node: Argument, bound: dict[str, Expr]) -> Expr:
    match node:
        case Name():
            return bound[node.text]
        case Number():
            return Const(float(node.value))
        case Unary():
            return Apply("neg", (_build(node.operand, bound),))
        case Binary():
            return Apply(OPERATORS[node.operator], (_build(node.left, bound), _build(node.right, bound)))
        case Call():
            function = FUNCTIONS[node.function]
            args = tuple(_build(arg, bound) for arg in node.args)
            rest = function.params[len(args) - function.arity :]
            return Apply(node.function, args + tuple(Const(value) for _, value in rest if value is not None))
        case _:
            raise TypeError(f"{node!r} in an expansion")
