"""All nodes below one, without walking the tree each time: a numbered tree knows where each subtree ends.

A detector's question is about a function or an expression, and there are many of both. Numbering costs one walk.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def number(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Number a tree, depth first in the order of the text, for ``walk``; all of its nodes in that order."""
    order: list[ast.AST] = []
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, left = waiting.pop()
        if left:
            node._last = len(order)  # type: ignore[attr-defined]
            continue
        # Load, Store and operators are one object for all their uses: they have no place of their own.
        if not isinstance(node, ast.expr_context | ast.operator | ast.unaryop | ast.boolop | ast.cmpop):
            node._first, node._order = len(order), order  # type: ignore[attr-defined]
            waiting.append((node, True))
        order.append(node)
        waiting += [(child, False) for child in reversed(list(ast.iter_child_nodes(node)))]
    return tuple(order)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """The node and everything below it, in the order of the text."""
    order: Sequence[ast.AST] | None = getattr(node, "_order", None)
    if order is None:
        return ast.walk(node)
    return iter(order[node._first : node._last])  # type: ignore[attr-defined]
