"""A first Python candidate for a problem: its own module under the name ``ModelNew``, without what makes its inputs.

Text to text; nothing is executed. As it stands it computes what the problem does, so that a change has something that
is right to start from.
"""

from __future__ import annotations

import ast
import re

_LEFT_OUT = {"get_inputs", "get_init_inputs", "SIZES"}
_OLD, _NEW = b"Model", b"ModelNew"


def module_text(source: str) -> str:
    """The candidate's text; SyntaxError where the problem is no Python (a problem that was read is)."""
    tree = ast.parse(source)
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    for row, column in sorted(_names(tree), reverse=True):
        line = lines[row - 1]
        at = line.find(_OLD, column)
        lines[row - 1] = line[:at] + _NEW + line[at + len(_OLD) :]
    for node in reversed(tree.body):
        if _name(node) in _LEFT_OUT:
            del lines[_first(node) - 1 : node.end_lineno]
    return re.sub(r"\n{4,}", "\n\n\n", b"".join(lines).decode()).rstrip() + "\n"


def _names(tree: ast.Module) -> list[tuple[int, int]]:
    """Where the class's name stands, as a line and the byte from which on it is looked for."""
    found = []
    for node in ast.walk(tree):
        # ``class`` stands before the name, so that the first match behind the node's beginning is it.
        if (isinstance(node, ast.ClassDef) and node.name == "Model") or (
            isinstance(node, ast.Name) and node.id == "Model"
        ):
            found.append((node.lineno, node.col_offset))
    return found


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return ""


def _first(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])
