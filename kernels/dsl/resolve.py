"""From written arguments to tensors, integers and numbers.

A dotted text is split at its longest declared name; what follows must be views. It infers no stage's shape.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

from kernels.dsl.builder import is_view
from kernels.dsl.errors import ArgumentError, NumberRange, ShapeMismatch, UnknownName, UseBeforeAssign, View
from kernels.dsl.ir import Value
from kernels.dsl.ops import OPS
from kernels.dsl.printer import format_value
from kernels.dsl.scope import Failed, Poisoned, Scope, Several
from kernels.dsl.syntax import Access, Argument, Binary, Call, Name, Number, Sequence, Span, Unary
from kernels.dsl.views import VIEWS, ViewRefused, broadcast_to


def tensor(node: Argument, scope: Scope) -> Value:
    """The tensor that ``node`` names, views applied; fails with the error noted where it names none."""
    match node:
        case Name():
            base, views = _split(node.text, node.span, scope)
            for view in views:
                base = _apply(base, view, (), node.span, scope)
            return base
        case Call() if is_view(node.function):
            if node.kwargs:
                what = f"{node.function}(…) with {node.kwargs[0].name}="
                raise scope.fail(
                    ArgumentError(node.kwargs[0].span, what=what, mend="give a view's integers by position")
                )
            text, _, view = node.function.rpartition(".")
            base = tensor(Name(text, node.span), scope)
            return _apply(base, view, node.args, node.span, scope)
        case Access():
            return _apply(tensor(node.base, scope), node.attribute, node.args or (), node.span, scope)
        case _:
            what = f"{format_value(node)} where a tensor must stand"
            mend = "name a tensor or a view of one; compute it first in a stage of its own"
            raise scope.fail(ArgumentError(node.span, what=what, mend=mend))


def names_tensor(node: Argument, scope: Scope) -> bool:
    """Whether ``node`` is a name or view, rather than a number or an expression."""
    match node:
        case Name():
            return node.text not in scope.symbols and node.text != "inf"
        case Call():
            return is_view(node.function)
        case Access():
            return True
        case _:
            return False


def _split(text: str, span: Span, scope: Scope) -> tuple[Value, tuple[str, ...]]:
    parts = text.split(".")
    for count in range(len(parts), 0, -1):
        found = scope.names.get(".".join(parts[:count]))
        if isinstance(found, Value):
            return found, tuple(parts[count:])
        if isinstance(found, Poisoned):
            raise Failed
        if isinstance(found, Several):
            first = ".".join(parts[:count])
            what = f"{first!r} has {found.count} results"
            mend = f"write {first}.0 to {first}.{found.count - 1}"
            raise scope.fail(ArgumentError(span, what=what, mend=mend))
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        if name in scope.assigned_on:
            raise scope.fail(UseBeforeAssign(span, found=name, assigned=scope.assigned_on[name]))
    while parts[-1] in VIEWS and len(parts) > 1:
        parts.pop()
    known = [*scope.names, *scope.assigned_on]
    raise scope.fail(UnknownName(span, found=text, legal=suggestion(".".join(parts), known)))


def suggestion(found: str, known: list[str]) -> str:
    """``did you mean 'weight'``, or the known names."""
    close = difflib.get_close_matches(found[:64], known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    known = list(dict.fromkeys(known))
    shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
    return f"known are {shown}" if known else "nothing is declared yet"


def among(found: str, known: list[str], words: str) -> str:
    """``words`` of all that would be right, behind the nearest of ``known`` where one is near."""
    near = suggestion(found, known)
    return f"{near} {words}" if near.startswith("did") else words


def function_hint(found: str, known: list[str]) -> str:
    """What to write instead of a function or link that does not exist: a stage, where one has the name."""
    if found in OPS:
        return f"{found} is a stage of its own: t = {found}(…)"
    return suggestion(found, known)


def _apply(base: Value, name: str, args: tuple[Argument, ...], span: Span, scope: Scope) -> Value:
    if name not in VIEWS:
        legal = ", ".join(f".{view}" for view in VIEWS)
        raise scope.fail(View(span, found=name, what=f"{base.name} has no view .{name}", mend=f"views are {legal}"))
    function, count, usage = VIEWS[name]
    if len(args) == 1 and isinstance(args[0], Sequence):
        args = args[0].items
    if (count is None and not args and name != "reshape") or (count is not None and len(args) != count):
        raise scope.fail(View(span, found=name, what=f".{name} with {len(args)} value(s)", mend=usage))
    values = tuple(integer(arg, scope) for arg in args)
    return viewed(lambda: function(base, *values), span, scope)


def viewed(make: Callable[[], Value], span: Span, scope: Scope) -> Value:
    """The view that ``make`` gives, kept; a refusal becomes a ``view`` error at ``span``."""
    try:
        return scope.keep(make())
    except ViewRefused as refused:
        raise scope.fail(View(span, what=refused.what, mend=refused.mend)) from None


def broadcast(value: Value, shape: tuple[int, ...], span: Span, scope: Scope) -> Value:
    """``value`` as an operand of a result of ``shape``; fails with ``shape-mismatch`` where torch would too."""
    try:
        return scope.keep(broadcast_to(value, shape))
    except ViewRefused:
        what = f"{value.name} has shape {list(value.shape)}, which does not broadcast to {list(shape)}"
        mend = f"each extent, from the last, must be 1 or that of {list(shape)}"
        raise scope.fail(ShapeMismatch(span, found=list(value.shape), what=what, mend=mend)) from None


def integer(node: Argument, scope: Scope) -> int:
    """An integer: a number, a size's symbol, or arithmetic on these (a division must come out even)."""
    value = number(node, scope)
    if isinstance(value, float):
        what = f"{format_value(node)} where an integer must stand"
        raise scope.fail(
            ArgumentError(node.span, what=what, mend="write a whole number, or sizes that divide evenly")
        )
    return value


def number(node: Argument, scope: Scope) -> int | float:
    """A number; sizes' symbols and ``inf`` count."""
    match node:
        case Number():
            return node.value
        case Name() if node.text in scope.symbols:
            return scope.symbols[node.text]
        case Name("inf"):
            return float("inf")
        case Unary():
            return -number(node.operand, scope)
        case Binary():
            value = _arithmetic(node, number(node.left, scope), number(node.right, scope), scope)
            if isinstance(value, int) and abs(value) >= 2**63:
                raise scope.fail(NumberRange(node.span, found=format_value(node)[:40]))
            return value
        case Name() if node.text in scope.names:
            what = f"{node.text!r} is a tensor, and a number must stand here"
            raise scope.fail(
                ArgumentError(node.span, found=node.text, what=what, mend="write a number or a size's symbol")
            )
        case Name():
            legal = suggestion(node.text, list(scope.symbols)) if scope.symbols else "write a number"
            raise scope.fail(UnknownName(node.span, found=node.text, legal=legal))
        case _:
            what = f"{format_value(node)} where a number must stand"
            raise scope.fail(ArgumentError(node.span, what=what, mend="write a number or a size's symbol"))


def _arithmetic(node: Binary, left: int | float, right: int | float, scope: Scope) -> int | float:
    match node.operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _ if right == 0:
            raise scope.fail(ArgumentError(node.span, what="a division by zero", mend="divide by another number"))
        case _:
            even = isinstance(left, int) and isinstance(right, int) and left % right == 0
            return left // right if even else left / right
