"""Written expressions to ``Expr``: operators, functions, numbers and tensors with torch's broadcasting.

Loads are first made with each tensor as it is; ``widen`` then gives them the result's shape, once that is known.
"""

from __future__ import annotations

from kernels.dsl.errors import ArgumentError, ShapeMismatch, UnknownFunction
from kernels.dsl.expansion import OPERATORS
from kernels.dsl.functions import FUNCTIONS, PARAMETER_ALIASES, Function
from kernels.dsl.ir import Acc, Apply, ChainStep, Const, Expr, Load, Value
from kernels.dsl.resolve import broadcast, function_hint, names_tensor, number, tensor
from kernels.dsl.scope import Scope
from kernels.dsl.syntax import Argument, Binary, Call, Keyword, Name, Number, Span, Unary
from kernels.dsl.views import broadcast_shapes
from kernels.dtypes import DType


def expression(node: Argument, scope: Scope, acc: bool) -> Expr:
    """``node`` as an expression; ``acc`` says whether that word stands for the incoming value here."""
    match node:
        case Name("acc") if acc:
            return Acc()
        case Number():
            return _constant(node, scope)
        case Name() if not names_tensor(node, scope):
            return _constant(node, scope)
        case Unary():
            return Apply("neg", (expression(node.operand, scope, acc),))
        case Binary():
            left, right = expression(node.left, scope, acc), expression(node.right, scope, acc)
            return Apply(OPERATORS[node.operator], (left, right))
        case Call() if not names_tensor(node, scope):
            return _call(node, scope, acc)
        case _:
            return Load(tensor(node, scope))


def _constant(node: Argument, scope: Scope) -> Const:
    return Const(float(number(node, scope)))


def _call(node: Call, scope: Scope, acc: bool) -> Expr:
    function = function_called(node.function, "function", node.span, scope)
    args = node.args[: function.arity]
    if len(args) < function.arity:
        what = f"{node.function} takes {function.arity} value(s) and got {len(args)}"
        raise scope.fail(ArgumentError(node.span, what=what, mend=f"write {function.signature}"))
    values = tuple(expression(arg, scope, acc) for arg in args)
    rest = node.args[function.arity :]
    return Apply(function.name, values + parameters(function, rest, node.kwargs, node.span, scope))


def function_called(name: str, kind: str, span: Span, scope: Scope) -> Function:
    """The function of that name; fails with ``unknown-function`` and the nearest one."""
    if name not in FUNCTIONS:
        legal = function_hint(name, list(FUNCTIONS))
        raise scope.fail(UnknownFunction(span, kind=kind, found=name, legal=legal))
    return FUNCTIONS[name]


def parameters(
    function: Function, args: tuple[Argument, ...], kwargs: tuple[Keyword, ...], span: Span, scope: Scope
) -> tuple[Const, ...]:
    """A function's numbers, by position or by name, defaults filled in."""
    names = [name for name, _ in function.params]
    given = dict(zip(names, args, strict=False))
    usage = f"write {function.signature}"
    if len(args) > len(names):
        what = f"{function.name} got {len(args) - len(names)} value(s) too many"
        raise scope.fail(ArgumentError(args[len(names)].span, what=what, mend=usage))
    for keyword in kwargs:
        name = keyword.name if keyword.name in names else PARAMETER_ALIASES.get(keyword.name, keyword.name)
        if name not in names or name in given:
            reason = "twice" if name in given else "which it does not have"
            what = f"{function.name} got {keyword.name!r}, {reason}"
            raise scope.fail(ArgumentError(keyword.span, what=what, mend=usage))
        given[name] = keyword.value
    values = []
    for name, default in function.params:
        if name in given:
            values.append(_constant(given[name], scope))
        elif default is None:
            raise scope.fail(ArgumentError(span, what=f"{function.name} needs {name!r}", mend=usage))
        else:
            values.append(Const(default))
    return tuple(values)


def loads(expr: Expr) -> tuple[Value, ...]:
    """The tensors an expression reads, each once, from left to right."""
    found: dict[str, Value] = {}
    _collect(expr, found)
    return tuple(found.values())


def _collect(expr: Expr, found: dict[str, Value]) -> None:
    if isinstance(expr, Load):
        found.setdefault(expr.value.name, expr.value)
    elif isinstance(expr, Apply):
        for arg in expr.args:
            _collect(arg, found)


def chain_values(chain: tuple[ChainStep, ...]) -> tuple[Value, ...]:
    """The tensors that a chain reads, each once."""
    found: dict[str, Value] = {}
    for step in chain:
        _collect(step.expr, found)
    return tuple(found.values())


def widen(expr: Expr, shape: tuple[int, ...], span: Span, scope: Scope) -> Expr:
    """``expr`` with every load broadcast to ``shape``."""
    match expr:
        case Load():
            return Load(broadcast(expr.value, shape, span, scope))
        case Apply():
            return Apply(expr.function, tuple(widen(arg, shape, span, scope) for arg in expr.args))
        case _:
            return expr


def common_shape(values: tuple[Value, ...], span: Span, scope: Scope) -> tuple[int, ...]:
    """The shape that ``values`` broadcast to."""
    shape: tuple[int, ...] = ()
    for value in values:
        joined = broadcast_shapes(shape, value.shape)
        if joined is None:
            what = f"{value.name} has shape {list(value.shape)}, which does not broadcast with {list(shape)}"
            mend = "extents, from the last, must agree or be 1"
            raise scope.fail(ShapeMismatch(span, found=list(value.shape), what=what, mend=mend))
        shape = joined
    return shape


_INTEGRAL = frozenset({"neg", "abs", "sign", "square", "relu", "add", "sub", "mul", "min", "max", "where"})


def computing_type(operands: tuple[Value, ...], chain: tuple[ChainStep, ...]) -> DType:
    """What a map, or a row stage over an expression, gives: the widest of its tensors' float types.

    f16 with bf16 is f32. Of integers alone it is the widest integer type, as long as nothing in the chain makes
    fractions; else f32.
    """
    floats = {value.dtype for value in operands if value.dtype.is_float}
    if DType.F64 in floats:
        return DType.F64
    if floats:
        return next(iter(floats)) if len(floats) == 1 else DType.F32
    widest = max((value.dtype for value in operands), key=lambda dtype: (dtype.bytes, dtype is not DType.BOOL))
    mixed = {DType.I8, DType.U8} <= {value.dtype for value in operands} and widest.bytes == 1
    if widest is DType.BOOL or not all(_integral(step.expr) for step in chain):
        return DType.F32
    return DType.I16 if mixed else widest


def _integral(expr: Expr) -> bool:
    if isinstance(expr, Const):
        return expr.value.is_integer()
    if isinstance(expr, Apply):
        return expr.function in _INTEGRAL and all(_integral(arg) for arg in expr.args)
    return True
