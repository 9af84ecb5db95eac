"""What a name stands for: aliases of imports followed, through assignments, ``getattr`` and ``__import__``.

By the text alone, the same everywhere in the file: a name that is bound to two things stands for the first module
that it is bound to.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

_IMPORTERS = frozenset({"__import__", "importlib.import_module", "import_module"})
_DEPTH = 60
_TRIES = 4


class Names:
    """The aliases of one file."""

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        """``nodes`` are all of the file's, in order."""
        self.aliases: dict[str, str] = {}
        self.modules: set[str] = set()
        self._tops: set[str] = set()
        for node in nodes:
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self._import_from(node)
        assigned = [node for node in nodes if isinstance(node, ast.Assign) and len(node.targets) == 1]
        for _ in range(_TRIES):
            before = len(self.aliases)
            for assign in assigned:
                self._assign(assign)
            if len(self.aliases) == before:
                break

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            whole = alias.name if alias.asname else alias.name.split(".")[0]
            self.aliases.setdefault(alias.asname or whole, whole)
            self._module(alias.name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.aliases.setdefault(alias.asname or alias.name, f"{node.module}.{alias.name}")
            self._module(f"{node.module}.{alias.name}")

    def _assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id not in self.aliases:
            found = self.of(node.value)
            if found is not None and self._is_module_part(found):
                self.aliases[target.id] = found

    def _is_module_part(self, name: str) -> bool:
        return name.split(".")[0] in self._tops

    def _module(self, name: str) -> None:
        self.modules.add(name)
        self._tops.add(name.split(".")[0])

    def of(self, node: ast.AST | None, depth: int = 0) -> str | None:
        """The dotted name of an expression, ``?`` for what has none before an attribute; None for the rest."""
        if depth > _DEPTH or node is None:
            return None
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            return f"{self.of(node.value, depth + 1) or '?'}.{node.attr}"
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        return None

    def _call(self, node: ast.Call, depth: int) -> str | None:
        called = self.of(node.func, depth + 1)
        if called in ("getattr", "builtins.getattr") and len(node.args) >= 2:
            attribute = constant_text(node.args[1])
            return None if attribute is None else f"{self.of(node.args[0], depth + 1) or '?'}.{attribute}"
        if called in _IMPORTERS and node.args:
            module = constant_text(node.args[0])
            if module is not None:
                self._module(module)
                return module.split(".")[0] if called == "__import__" else module
        return None

    def imported(self, name: str) -> bool:
        """Whether a dotted name begins with something that the file imports."""
        return name.split(".")[0] in self._tops


def constant_text(node: ast.AST | None, depth: int = 0) -> str | None:
    """The string that an expression of constants gives: literals, their sums and joins, f-strings' fixed parts."""
    if depth > _DEPTH or node is None:
        return None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant_text(node.left, depth + 1), constant_text(node.right, depth + 1)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.JoinedStr):
        return "".join(constant_text(part) or "0" for part in node.values)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "join"
        and node.args
    ):
        items = node.args[0].elts if isinstance(node.args[0], ast.List | ast.Tuple) else []
        between = constant_text(node.func.value, depth + 1)
        parts = [constant_text(item, depth + 1) for item in items]
        if between is not None and items and all(part is not None for part in parts):
            return between.join(part or "" for part in parts)
    return None
