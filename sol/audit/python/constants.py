"""Values that stand in the text: names that are bound to literals once, and what is made of them alone.

A kernel's own source, written to a file for a compiler, is such a value; an answer never is.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from sol.audit.python.flow import called, flow_of, root, values_of
from sol.audit.python.walk import walk

if TYPE_CHECKING:
    from sol.audit.python.code import PythonCode

_LITERALS = (
    ast.Constant,
    ast.Dict,
    ast.Tuple,
    ast.List,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.expr_context,
    ast.Name,
)
_CHANGES = frozenset({"update", "setdefault", "append", "extend", "insert", "pop", "clear", "__setitem__"})
_DEPTH = 6
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Constants:
    """Of one file."""

    def __init__(self, code: PythonCode) -> None:
        self._code = code

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the module that are given one literal and never written again."""
        given: dict[str, int] = {}
        for node in self._code.tree.body:
            if isinstance(node, ast.Assign) and all(isinstance(part, _LITERALS) for part in walk(node.value)):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        given[target.id] = given.get(target.id, 0) + 1
        for part in self._code.nodes:
            for name in _written(part):
                given[name] = given.get(name, 0) + 1
        # The assignment itself is one of the two.
        return frozenset(name for name, times in given.items() if times == 2)

    def around(self, node: ast.AST) -> _Function | None:
        """The innermost function that a node stands in."""
        return self._by_line.get(getattr(node, "lineno", 0))

    @cached_property
    def _by_line(self) -> dict[int, _Function]:
        """The innermost function of each line: in the order of the text an inner one comes later."""
        functions = [node for node in self._code.nodes if isinstance(node, _Function)]
        return {line: f for f in functions for line in range(f.lineno, (f.end_lineno or f.lineno) + 1)}

    def alone(self, node: ast.AST, function: ast.AST, depth: int = 0) -> bool:
        """Whether a value is made of constants of the module alone; which of them, anything may say."""
        if depth > _DEPTH:
            return False
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Subscript | ast.Attribute):
            return self.alone(node.value, function, depth + 1)
        if isinstance(node, ast.Call):
            about = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            about = [part for part in about if not self._code.names.imported(self._code.names.of(part) or "?")]
            return all(self.alone(part, function, depth + 1) for part in [*about, *node.args])
        if isinstance(node, ast.Name):
            return node.id in self.names or self._made(node.id, function, depth)
        return False

    def _made(self, name: str, function: ast.AST, depth: int) -> bool:
        """By what a name is given in its function; a loop's name by what it goes over."""
        flow = flow_of(function, effects=False)
        sources, values = flow.sources.get(name, set()), flow.values.get(name, [])
        given = {source for value in values for source in values_of(value)}
        rest = sources - given
        return (
            bool(values or rest) and rest <= self.names and all(self.alone(v, function, depth + 1) for v in values)
        )


def _written(node: ast.AST) -> list[str]:
    """Names that a node binds, or whose value it changes."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        return [node.id]
    if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        name = root(node)
        return [name] if name is not None else []
    if isinstance(node, ast.Call) and called(node) in _CHANGES and isinstance(node.func, ast.Attribute):
        name = root(node.func.value)
        return [name] if name is not None else []
    return []
