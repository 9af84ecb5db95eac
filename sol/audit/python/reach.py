"""Which functions, methods and values of a file some functions reach, by the names they mention."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sol.audit.python.walk import walk

if TYPE_CHECKING:
    from sol.audit.python.code import PythonCode

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def reached(code: PythonCode, starts: Iterable[ast.AST]) -> tuple[ast.AST, ...]:
    """The starts, and every definition and module-level value that they lead to; attributes of self too."""
    values, attributes = _values(code), _attributes(code)
    seen: dict[int, ast.AST] = {}
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        waiting += [found for word in _mentioned(node) for found in _meant(code, word, values, attributes)]
    return tuple(seen.values())


def _mentioned(node: ast.AST) -> set[str]:
    found: set[str] = set()
    for part in walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            found.add(f"{part.value.id}.{part.attr}")
    return found


def _meant(
    code: PythonCode, word: str, values: dict[str, list[ast.AST]], attributes: dict[str, list[ast.AST]]
) -> list[ast.AST]:
    if "." in word:
        owner, name = word.split(".", 1)
        inner = code.classes.get(owner)
        method = code.method(name, inner) if owner in ("self", "cls") or inner is not None else None
        found: list[ast.AST] = [method] if method is not None else []
        return found + (attributes.get(name, []) if owner in ("self", "cls") else [])
    if word in code.functions:
        return [code.functions[word]]
    if word in code.classes:
        return [item for item in code.classes[word].body if isinstance(item, _Definition)] or [code.classes[word]]
    return values.get(word, [])


def _values(code: PythonCode) -> dict[str, list[ast.AST]]:
    """What names are bound to outside of functions, ``with`` and ``try`` included."""
    found: dict[str, list[ast.AST]] = {}
    waiting: list[ast.AST] = list(code.tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Definition):
            continue
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name in walk(target):
                    if isinstance(name, ast.Name):
                        found.setdefault(name.id, []).append(node.value)
        waiting += ast.iter_child_nodes(node)
    return found


def _attributes(code: PythonCode) -> dict[str, list[ast.AST]]:
    """What attributes of self are bound to, in any method."""
    found: dict[str, list[ast.AST]] = {}
    for node in code.nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    found.setdefault(target.attr, []).append(node.value)
    return found
