"""A chain's expressions in the host's C++: vectors ``V`` of the computing type ``C``, functions of ``mu/math.h``."""

from __future__ import annotations

import math

from kernels.codegen.errors import FunctionWithoutCode
from kernels.codegen.host.operands import Operands
from kernels.dsl.ir import Acc, Apply, Const, Expr, Load, Stage

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

FUNCTIONS = frozenset({
    "neg", "abs", "sign", "square", "reciprocal", "sqrt", "rsqrt", "floor", "ceil", "trunc", "round",
    "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "tanh", "erf", "erfc", "sigmoid",
    "relu", "relu6", "gelu", "gelu_tanh", "silu", "softplus", "mish", "elu", "selu", "celu", "leaky_relu",
    "hardtanh", "hardsigmoid", "hardswish", "hardshrink", "logsigmoid", "softsign", "tanhshrink", "threshold",
    "add", "sub", "mul", "div", "min", "max", "pow", "clamp", "where", "gt", "lt", "ge", "le", "eq", "ne",
})  # fmt: skip
"""The functions of ``mu/math.h`` and ``mu/activations.h`` by their names in the language."""


def cpp_expression(expr: Expr, stage: Stage, operands: Operands) -> str:
    """The C++ of one expression; the value that arrives from the left is the variable ``acc``."""
    if isinstance(expr, Acc):
        return "acc"
    if isinstance(expr, Load):
        return operands.of(expr.value).read()
    if isinstance(expr, Const):
        return f"mu::constant<V>({cpp_number(expr.value)})"
    return _apply(expr, stage, operands)


def _apply(expr: Apply, stage: Stage, operands: Operands) -> str:
    args = [cpp_expression(argument, stage, operands) for argument in expr.args]
    if expr.function in _INFIX and len(args) == 2:
        return f"({args[0]} {_INFIX[expr.function]} {args[1]})"
    if expr.function not in FUNCTIONS:
        raise FunctionWithoutCode(
            stage=stage.name, target="host", function=expr.function, legal=", ".join(sorted(FUNCTIONS))
        )
    return f"mu::{expr.function}({', '.join(args)})"


def without_parentheses(text: str) -> str:
    """``(a + b)`` as ``a + b``, where the outermost pair encloses the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text


def cpp_number(value: float) -> str:
    """A double literal that reads back as the same number."""
    number = float(value)
    if math.isnan(number):
        return '__builtin_nan("")'
    if math.isinf(number):
        return "__builtin_inf()" if number > 0 else "-__builtin_inf()"
    return repr(number)
