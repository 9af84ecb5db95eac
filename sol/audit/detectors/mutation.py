"""Writes to the inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.spans import statements, texts
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import FunctionNode, PythonCode, head
from sol.audit.python.flow import called
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_VIEWS = frozenset({"view", "reshape", "flatten", "squeeze", "unsqueeze", "transpose", "t", "permute", "detach",
                    "contiguous", "expand", "narrow", "select", "view_as", "numpy"})  # fmt: skip
_HARMLESS = frozenset({"requires_grad_", "retain_grad_", "share_memory_", "record_stream_"})


class Mutation(SourceDetector):
    """An input that is written before its name stands for something else."""

    name = "mutation"
    tricks = (Trick.INPUT_MUTATION,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Statement by statement through forward."""
        if code.forward is None:
            return
        for node, name, sure in _writes(code, code.forward, set(code.inputs)):
            severity = Severity.SEVERE if sure else Severity.SUSPECT
            words = f"the input {quoted(name)} is written in place"
            yield self.flag(Trick.INPUT_MUTATION, severity, 0.85 if sure else 0.6, words, head(node))

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Writes through a const that was cast away."""
        for function in unit.reachable:
            const = {n for n in function.parameter_names if n}
            for piece in statements(function.body):
                words = texts(piece)
                if "=" in words[1:] and "inputs" in words[words.index("=") :]:
                    const.add(words[words.index("=") - 1])
            for piece in statements(function.body):
                words = texts(piece)
                if "const_cast" in words and "inputs" in "".join(words):
                    yield self._cast(piece[0].line, "const_cast of an input")
                elif _written_cast(words, const):
                    yield self._cast(piece[0].line, "an input's const is cast away and it is written")
        for call in unit.called("memset", "cudaMemset", "cudaMemsetAsync", "memcpy", "cudaMemcpyAsync"):
            first = texts(call.arguments[0]) if call.arguments else []
            if "inputs" in first or ("const_cast" in first):
                yield self._cast(call.line, f"{call.last} into an input")

    def _cast(self, number: int, words: str) -> Flag:
        return self.flag(Trick.INPUT_MUTATION, Severity.SEVERE, 0.75, words, line(number))


def _written_cast(words: list[str], parameters: set[str]) -> bool:
    """``((float*)x)[i] = …`` of a parameter, or ``const_cast<float*>(x)[i] = …``."""
    if "=" not in words:
        return False
    left = words[: words.index("=")]
    if left[:3] == ["(", "(", "float"] or (left[:2] == ["(", "("] and "*" in left[:5]):
        return "const" not in left and bool(set(left) & parameters)
    return "const_cast" in left and left[-1] == "]"


def _writes(code: PythonCode, function: FunctionNode, inputs: set[str]) -> Iterator[tuple[ast.AST, str, bool]]:
    """Each write to a name that still is an input: where, which, and whether new values are put there."""
    live = set(inputs)
    for statement in _in_order(function.body):
        for node in _parts(statement):
            if isinstance(node, ast.Call):
                yield from _call(code, node, live)
            elif isinstance(node, ast.AugAssign) and _input(node.target, live):
                yield node, _input(node.target, live) or "", isinstance(node.target, ast.Subscript)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    data = isinstance(target, ast.Attribute) and target.attr == "data"
                    if (data or isinstance(target, ast.Subscript)) and _input(target, live):
                        yield node, _input(target, live) or "", True
        _rebind(statement, live)


def _call(code: PythonCode, node: ast.Call, live: set[str]) -> Iterator[tuple[ast.AST, str, bool]]:
    name = called(node)
    owner = _input(node.func.value, live) if isinstance(node.func, ast.Attribute) else None
    if name.endswith("_") and not name.endswith("__") and name not in _HARMLESS:
        if owner is not None:
            yield node, owner, name in ("zero_", "fill_", "copy_", "normal_", "uniform_", "random_", "set_")
        elif node.args and _input(node.args[0], live) and (code.names.of(node.func) or "").startswith("torch."):
            yield node, _input(node.args[0], live) or "", False
    for keyword in node.keywords:
        true = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        if keyword.arg == "out" and _input(keyword.value, live):
            yield node, _input(keyword.value, live) or "", True
        elif keyword.arg == "inplace" and true and node.args and _input(node.args[0], live):
            yield node, _input(node.args[0], live) or "", False


def _input(node: ast.AST, live: set[str]) -> str | None:
    """The input that an expression is, or is a view of."""
    while True:
        if isinstance(node, ast.Name):
            return node.id if node.id in live else None
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Attribute):
            if node.attr not in ("data", "T", "mT"):
                return None
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
            node = node.func.value
        else:
            return None


def _rebind(statement: ast.stmt, live: set[str]) -> None:
    if not isinstance(statement, ast.Assign):
        return
    for target in statement.targets:
        if isinstance(target, ast.Name):
            if _input(statement.value, live):
                live.add(target.id)
            else:
                live.discard(target.id)


def _in_order(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    waiting = list(reversed(block))
    while waiting:
        statement = waiting.pop()
        yield statement
        for name in ("finalbody", "orelse", "body"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list) and not isinstance(statement, FunctionNode | ast.ClassDef):
                waiting += reversed([item for item in inner if isinstance(item, ast.stmt)])


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """A statement and its expressions, without the statements in it."""
    yield statement
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt | ast.excepthandler):
            yield from walk(child)
