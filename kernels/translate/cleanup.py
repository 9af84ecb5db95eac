"""First pass: drop what changes no value, and call things by the names the language has for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernels.problems.inspection import Node
from kernels.translate.work import Work, base, is_ref, key, number

_SAME = frozenset({"alias", "detach", "lift_fresh_copy", "lift_fresh", "lift", "clone", "contiguous"})
_SAME_IF_SHAPED = frozenset({"view", "reshape", "_unsafe_view", "expand"})


def clean(work: Work) -> None:
    """Copies and views that change nothing go; ``x·sigmoid(x)`` becomes silu, ``x·tanh(softplus(x))`` mish."""
    work.redirect({node.name: node.args[0] for node in work.nodes if _changes_nothing(work, node)})
    work.set_nodes([_pattern(work, node) for node in work.nodes])
    work.drop_unused()


def _changes_nothing(work: Work, node: Node) -> bool:
    name = base(node.op)
    if not node.args or not is_ref(node.args[0]):
        return False
    source, result = work.spec(node.args[0]), node.results[0]
    if name in _SAME:
        # A copy of a permuted tensor changes strides only; the emitter copies where a stage needs it.
        return True
    if name in _SAME_IF_SHAPED:
        return source.shape == result.shape
    if name in {"_to_copy", "to"}:
        return source.dtype is result.dtype
    if name == "permute":
        return list(node.args[1]) == list(range(len(source.shape)))
    if name in {"mul", "div", "pow"} and len(node.args) > 1:
        return number(node.args[1]) == 1 and source.dtype is result.dtype and not node.kwargs
    if name in {"add", "sub"} and len(node.args) > 1:
        return number(node.args[1]) == 0 and source.dtype is result.dtype
    return False


def _pattern(work: Work, node: Node) -> Node:
    if base(node.op) != "mul" or len(node.args) != 2 or not all(is_ref(arg) for arg in node.args):
        return node
    for plain, gate in (node.args, node.args[::-1]):
        inner = work.producer(gate)
        if inner is None:
            continue
        if base(inner.op) == "sigmoid" and _same(inner.args[0], plain):
            return replace(node, op="aten.silu.default", args=(plain,), kwargs={})
        if base(inner.op) == "tanh":
            soft = work.producer(inner.args[0])
            if (
                soft is not None
                and base(soft.op) == "softplus"
                and len(soft.args) == 1
                and _same(soft.args[0], plain)
            ):
                return replace(node, op="aten.mish.default", args=(plain,), kwargs={})
    return node


def _same(one: Any, other: Any) -> bool:
    return is_ref(one) and is_ref(other) and key(one) == key(other)
