"""Chain links (``>> bias(b) >> gelu()``) to expressions of the incoming value ``Acc``.

The table says which links exist; every function of one tensor is a link too. What a target's epilogue can express is
decided in ``layouts``, not here. The link that reduces a product is no expression: see ``reducing``.
"""

from __future__ import annotations

from collections.abc import Callable

from kernels.dsl.errors import ArgumentError, ShapeMismatch, UnknownFunction
from kernels.dsl.expressions import expression, parameters, widen
from kernels.dsl.functions import FUNCTIONS
from kernels.dsl.ir import Acc, Apply, ChainStep, Const, Expr, Load
from kernels.dsl.printer import format_link
from kernels.dsl.resolve import broadcast, function_hint, number, tensor
from kernels.dsl.scope import Failed, Scope
from kernels.dsl.syntax import Link
from kernels.dsl.views import unsqueeze

Shape = tuple[int, ...]


def chain_step(link: Link, shape: Shape, scope: Scope, bias_axis: int = -1) -> ChainStep:
    """One link on a stage whose result has ``shape``; fails with the error noted.

    ``bias_axis`` is the dimension that a bias runs along: the last, or that of a convolution's channels.
    """
    if not check_name(link, scope):
        raise Failed
    if link.name == "bias" and bias_axis != -1:
        expr = _bias(link, shape, scope, bias_axis)
    elif link.name in LINKS:
        expr = LINKS[link.name][0](link, shape, scope)
    else:
        function = FUNCTIONS[link.name]
        numbers = parameters(function, link.args, link.kwargs, link.span, scope)
        expr = Apply(function.name, (Acc(), *numbers))
    return ChainStep(format_link(link), expr, link.span)


def check_name(link: Link, scope: Scope) -> bool:
    """Whether there is such a link, noted where there is none; for chains whose stage failed before them."""
    if link.name in LINK_NAMES:
        return True
    legal = function_hint(link.name, LINK_NAMES)
    scope.note(UnknownFunction(link.span, kind="link", found=link.name, legal=legal))
    return False


def _one(link: Link, scope: Scope, usage: str) -> None:
    if len(link.args) != 1 or link.kwargs:
        count = len(link.args) + len(link.kwargs)
        what = f"{link.name} takes one value and got {count}"
        raise scope.fail(ArgumentError(link.span, what=what, mend=f"write {usage}"))


def _bias(link: Link, shape: Shape, scope: Scope, axis: int = -1) -> Expr:
    along = "last dimension" if axis == -1 else "channels"
    _one(link, scope, f"bias(t), with t a vector along the {along}")
    value = tensor(link.args[0], scope)
    extent = shape[axis] if shape else 1
    if value.shape != (extent,):
        what = f"bias takes a vector of {extent} along the {along}, and {value.name} has shape {list(value.shape)}"
        mend = "add(t) broadcasts any tensor to the result"
        raise scope.fail(ShapeMismatch(link.span, found=list(value.shape), what=what, mend=mend))
    if axis != -1:
        for _ in shape[axis + 1 :]:
            value = unsqueeze(value, len(value.shape))
    return Apply("add", (Acc(), Load(broadcast(value, shape, link.span, scope))))


def _binary(function: str, reverse: bool = False) -> Callable[[Link, Shape, Scope], Expr]:
    def build(link: Link, shape: Shape, scope: Scope) -> Expr:
        _one(link, scope, f"{link.name}(t), with a tensor or a number")
        other = widen(expression(link.args[0], scope, acc=False), shape, link.span, scope)
        return Apply(function, (other, Acc()) if reverse else (Acc(), other))

    return build


def _scale(link: Link, shape: Shape, scope: Scope) -> Expr:
    _one(link, scope, "scale(number)")
    return Apply("mul", (Acc(), Const(float(number(link.args[0], scope)))))


def _expr(link: Link, shape: Shape, scope: Scope) -> Expr:
    _one(link, scope, "expr(EXPRESSION of acc)")
    return widen(expression(link.args[0], scope, acc=True), shape, link.span, scope)


LINKS: dict[str, tuple[Callable[[Link, Shape, Scope], Expr], str]] = {
    "bias": (_bias, "bias(t): add the vector t along the last dimension, behind convolutions along the channels"),
    "add": (_binary("add"), "add(t): t is a tensor that broadcasts to the result, or a number"),
    "sub": (_binary("sub"), "sub(t): acc - t"),
    "rsub": (_binary("sub", reverse=True), "rsub(t): t - acc"),
    "mul": (_binary("mul"), "mul(t): acc * t"),
    "div": (_binary("div"), "div(t): acc / t"),
    "rdiv": (_binary("div", reverse=True), "rdiv(t): t / acc"),
    "min": (_binary("min"), "min(t): the smaller of acc and t"),
    "max": (_binary("max"), "max(t): the larger of acc and t"),
    "pow": (_binary("pow"), "pow(t): acc to the power of t"),
    "scale": (_scale, "scale(number): acc * number"),
    "expr": (_expr, "expr(EXPRESSION): any expression, with acc for the incoming value"),
}
"""By name: what builds it, and the line of documentation."""

LINK_NAMES = ["reduce", *LINKS, *(name for name, function in FUNCTIONS.items() if function.arity == 1)]
