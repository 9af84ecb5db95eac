"""Which ATen operations are elementwise, and what each is in the language's functions.

One table row an operation. What has no row, or arguments that a row does not cover, is not elementwise here and
becomes a ``torch.*`` stage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kernels.dtypes import DType
from kernels.problems.inspection import Node
from kernels.translate.expressions import Expr, Fn, Num, Op, Ref
from kernels.translate.work import FLOATS, Work, base, is_ref, key, number, words

Rule: TypeAlias = "Callable[[Node, list[Any]], Expr | None]"

_INF = float("inf")
_CONSTANTS = {"zeros": 0.0, "ones": 1.0, "zeros_like": 0.0, "ones_like": 1.0}


def expression(work: Work, node: Node) -> Expr | None:
    """What a node computes from its tensors, element by element; None where it is nothing of that kind."""
    rule = _RULES.get(base(node.op))
    if rule is None or len(node.results) != 1 or not _types_agree(work, node):
        return None
    args = [operand(work, arg) for arg in node.args]
    return rule(node, args)


def operand(work: Work, arg: Any) -> Any:
    """An argument as an expression where it is a tensor or a number, else as it is."""
    if is_ref(arg):
        value = constant(work, arg)
        return Ref(*key(arg)) if value is None else _not_a_number() if value != value else Num(value)
    value = number(arg)
    return Num(value) if value is not None else arg


def _not_a_number() -> Expr:
    """NaN, which the language has no word for, as what gives it."""
    return Fn("sqrt", (Num(-1),))


def constant(work: Work, ref: dict[str, Any]) -> float | int | None:
    """The number that every element of a tensor is known to be; None where it is not."""
    node = work.producer(ref)
    if node is None:
        return None
    name = base(node.op)
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if name == "scalar_tensor":
        return number(node.args[0])
    if name in {"full", "full_like"}:
        return number(node.args[1])
    return None


def _types_agree(work: Work, node: Node) -> bool:
    """One float type throughout; truth values only between comparisons and where."""
    result = node.results[0].dtype
    tensors = [arg for arg in node.args if is_ref(arg) and constant(work, arg) is None]
    floats = {work.spec(arg).dtype for arg in tensors} - {DType.BOOL}
    if not tensors or len(floats) > 1 or not floats <= FLOATS:
        return False
    truths = [arg for arg in tensors if work.spec(arg).dtype is DType.BOOL]
    if truths and not all(is_truth(work, arg) for arg in truths):
        return False
    return result is DType.BOOL or (result in FLOATS and (not floats or floats == {result}))


def is_truth(work: Work, ref: dict[str, Any]) -> bool:
    """Whether a tensor of truth values is itself computed by an elementwise node."""
    node = work.producer(ref)
    return node is not None and base(node.op) in _TRUTHS and expression(work, node) is not None


def _plain(name: str) -> Rule:
    return lambda node, args: Fn(name, (args[0],)) if len(args) == 1 and not node.kwargs else None


def _with_numbers(name: str, *defaults: float) -> Rule:
    """A function of one tensor whose numbers are positional in ATen too."""

    def rule(node: Node, args: list[Any]) -> Expr | None:
        if node.kwargs or not all(isinstance(arg, Num) for arg in args[1:]):
            return None
        given = [arg.value for arg in args[1:]]
        values = (*given, *defaults[len(given) :])
        return Fn(name, (args[0],), () if values == defaults else values)

    return rule


def _operator(symbol: str, swapped: bool = False) -> Rule:
    def rule(node: Node, args: list[Any]) -> Expr | None:
        if len(args) < 2 or set(node.kwargs) - {"alpha"} or not all(isinstance(a, Num | Ref) for a in args[:2]):
            return None
        left, right = (args[1], args[0]) if swapped else (args[0], args[1])
        alpha = number(node.kwargs.get("alpha", args[2].value if len(args) > 2 and isinstance(args[2], Num) else 1))
        if alpha is None:
            return None
        if alpha != 1:
            right = Op("*", Num(alpha), right)
        return Op(symbol, left, right)

    return rule


def _binary(name: str) -> Rule:
    return lambda node, args: Fn(name, (args[0], args[1])) if _two(args) else None


def _two(args: list[Any]) -> bool:
    return len(args) == 2 and all(isinstance(arg, Num | Ref | Fn | Op) for arg in args)


def _negated(name: str) -> Rule:
    return lambda node, args: Op("-", Num(1), Fn(name, (args[0], args[1]))) if _two(args) else None


def _power(node: Node, args: list[Any]) -> Expr | None:
    if not _two(args):
        return None
    if isinstance(args[1], Num):
        short = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}.get(args[1].value)
        if short is not None:
            return Fn(short, (args[0],))
    return Fn("pow", (args[0], args[1]))


def _clamp(node: Node, args: list[Any]) -> Expr | None:
    bounds = [*args[1:], None, None][:2]
    low = bounds[0] if bounds[0] is not None else node.kwargs.get("min")
    high = bounds[1] if bounds[1] is not None else node.kwargs.get("max")
    low, high = (Num(v) if isinstance(v, int | float) else v for v in (low, high))
    if all(bound is None or isinstance(bound, Num) for bound in (low, high)):
        lo, hi = (low.value if low is not None else -_INF), (high.value if high is not None else _INF)
        if hi == _INF:
            return Fn("max", (args[0], Num(lo)))
        return Fn("min", (args[0], Num(hi))) if lo == -_INF else Fn("clamp", (args[0],), (lo, hi))
    inner: Expr = args[0]
    if low is not None:
        inner = Fn("max", (inner, low))
    return Fn("min", (inner, high)) if high is not None else inner


def _gelu(node: Node, args: list[Any]) -> Expr | None:
    form = node.kwargs.get("approximate", args[1] if len(args) > 1 else "none")
    return Fn("gelu_tanh" if form == "tanh" else "gelu", (args[0],))


def _elu(node: Node, args: list[Any]) -> Expr | None:
    numbers = [arg.value for arg in args[1:]]
    alpha, scale, input_scale = [*numbers, 1, 1, 1][:3]
    if scale != 1 or input_scale != 1:
        return None
    return Fn("elu", (args[0],), () if alpha == 1 else (alpha,))


def _where(node: Node, args: list[Any]) -> Expr | None:
    return Fn("where", tuple(args)) if len(args) == 3 else None


_COMPARISONS = {name: _binary(name) for name in ("gt", "lt", "ge", "le", "eq")} | {"ne": _negated("eq")}
_TRUTHS = frozenset({*_COMPARISONS, "logical_not", "logical_and", "isnan"})

_RULES: dict[str, Rule] = {
    **{
        name: _plain(name)
        for name in words(
            "neg abs exp exp2 log log1p sqrt rsqrt reciprocal square sin cos tanh sigmoid erf erfc floor ceil round "
            "sign relu relu6 silu mish selu hardsigmoid hardswish softsign tanhshrink"
        )
    },
    "log_sigmoid": _plain("logsigmoid"),
    "logsigmoid": _plain("logsigmoid"),
    "sgn": _plain("sign"),
    "softplus": _with_numbers("softplus", 1, 20),
    "celu": _with_numbers("celu", 1),
    "leaky_relu": _with_numbers("leaky_relu", 0.01),
    "hardtanh": _with_numbers("hardtanh", -1, 1),
    "threshold": _with_numbers("threshold"),
    "elu": _elu,
    "gelu": _gelu,
    "add": _operator("+"),
    "sub": _operator("-"),
    "rsub": _operator("-", swapped=True),
    "mul": _operator("*"),
    "div": _operator("/"),
    "true_divide": _operator("/"),
    "pow": _power,
    "minimum": _binary("min"),
    "maximum": _binary("max"),
    "clamp": _clamp,
    "clamp_min": lambda node, args: Fn("max", (args[0], args[1])) if _two(args) else None,
    "clamp_max": lambda node, args: Fn("min", (args[0], args[1])) if _two(args) else None,
    "where": _where,
    **_COMPARISONS,
    "isnan": lambda node, args: Op("-", Num(1), Fn("eq", (args[0], args[0]))),
    "logical_not": lambda node, args: Fn("eq", (args[0], Num(0))),
    "logical_and": lambda node, args: Op("*", args[0], args[1]) if _two(args) else None,
}
