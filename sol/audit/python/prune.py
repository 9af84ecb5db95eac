"""A syntax tree without the statements that never run: ``if False``, and what stands behind a ``return``."""

from __future__ import annotations

import ast
import copy

_ENDS = ast.Return | ast.Raise | ast.Continue | ast.Break


def prune(tree: ast.Module) -> ast.Module:
    """A copy; the tree itself keeps what it had."""
    pruned = copy.copy(tree)
    pruned.body = _block(tree.body)
    waiting: list[ast.AST] = list(pruned.body)
    while waiting:
        node = waiting.pop()
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, _block(block))
        waiting += [
            child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt | ast.excepthandler)
        ]
    return pruned


def _block(block: list[ast.stmt]) -> list[ast.stmt]:
    kept: list[ast.stmt] = []
    for statement in block:
        if isinstance(statement, ast.If | ast.While) and _never(statement.test):
            kept += _block(statement.orelse)
            continue
        kept.append(statement)
        if isinstance(statement, _ENDS):
            break
    return kept


def _never(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and not test.value
