"""Arguments of a stage by name: integers, one or one for each spatial dimension, and truth values.

It knows no stage; which arguments one has, and what they mean, is said where the stage is read.
"""

from __future__ import annotations

from kernels.dsl.errors import ArgumentError
from kernels.dsl.ops import OPS
from kernels.dsl.printer import format_value
from kernels.dsl.resolve import integer
from kernels.dsl.scope import Scope
from kernels.dsl.syntax import Argument, Assign, Name, Sequence

_TRUTHS = {"true": True, "false": False, "True": True, "False": False}


def given(stage: Assign, names: tuple[str, ...], required: int, scope: Scope) -> dict[str, Argument]:
    """The written arguments by name; all of ``names`` may stand by position, the first ``required`` must be there."""
    usage = f"write {OPS[stage.op].usage}"
    if len(stage.args) > len(names):
        what = f"{stage.op} takes {len(names)} argument(s) at most and got {len(stage.args)}"
        raise scope.fail(ArgumentError(stage.args[len(names)].span, what=what, mend=usage))
    found = dict(zip(names, stage.args, strict=False))
    for keyword in stage.kwargs:
        if keyword.name not in names:
            what = f"{stage.op} has no argument {keyword.name!r}"
            raise scope.fail(ArgumentError(keyword.span, found=keyword.name, what=what, mend=usage))
        if keyword.name in found:
            what = f"{stage.op} got {keyword.name!r} twice"
            raise scope.fail(ArgumentError(keyword.span, what=what, mend="keep one of them"))
        found[keyword.name] = keyword.value
    for name in names[:required]:
        if name not in found:
            raise scope.fail(ArgumentError(stage.span, what=f"{stage.op} needs {name!r}", mend=usage))
    return found


def extents(stage: Assign, name: str, node: Argument, count: int, least: int, scope: Scope) -> tuple[int, ...]:
    """``node`` as ``count`` integers of at least ``least``: one for all, or a sequence with one for each."""
    items = node.items if isinstance(node, Sequence) else (node,)
    if len(items) not in (1, count):
        what = f"{name} of {stage.op} has {len(items)} numbers"
        mend = "write one number" if count == 1 else f"write one number, or one for each of {count} dimensions"
        raise scope.fail(ArgumentError(node.span, found=format_value(node), what=what, mend=mend))
    values = tuple(integer(item, scope) for item in items)
    for item, value in zip(items, values, strict=True):
        if value < least:
            what = f"{name} of {stage.op} is {value}"
            raise scope.fail(ArgumentError(item.span, found=value, what=what, mend=f"{name} is at least {least}"))
    return values if len(values) == count else values * count


def truth(name: str, node: Argument | None, otherwise: bool, scope: Scope) -> bool:
    """``true`` or ``false``; ``otherwise`` where nothing is written."""
    if node is None:
        return otherwise
    if not isinstance(node, Name) or node.text not in _TRUTHS:
        what = f"{name} is {format_value(node)}"
        raise scope.fail(ArgumentError(node.span, what=what, mend=f"write {name}=true or {name}=false"))
    return _TRUTHS[node.text]
