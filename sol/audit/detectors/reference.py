"""The problem's own module again: inherited, called, or copied."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector
from sol.audit.python.code import FunctionNode, PythonCode, head, place
from sol.audit.python.own import Own
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_MODEL = "Model"
_ALIKE = 0.92
_MOST = 4000


class Reference(SourceDetector):
    """By the syntax trees, with names of variables taken out of account."""

    name = "reference"
    tricks = (Trick.INHERITS_REFERENCE, Trick.RESUBMITS_REFERENCE)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Beside the problem's text, where there is one."""
        if code.model is None:
            return
        yield from self._inherited(code)
        yield from self._called(code)
        yield from self._copied(code, reading)

    def _inherited(self, code: PythonCode) -> Iterator[Flag]:
        assert code.model is not None
        for base in code.model.bases:
            name = code.names.of(base) or ""
            if name.rsplit(".", 1)[-1] != _MODEL:
                continue
            own = next((i for i in code.model.body if isinstance(i, FunctionNode) and i.name == "forward"), None)
            asks = own is not None and any(
                c.name == "?.forward" or c.last == "forward" for c in code.calls_in([own])
            )
            if own is None or asks:
                words = f"the class inherits forward from {quoted(name)}"
                yield self.flag(Trick.INHERITS_REFERENCE, Severity.SEVERE, 0.9, words, head(code.model))
            else:
                words = f"the class inherits from {quoted(name)}, with a forward of its own"
                yield self.flag(Trick.INHERITS_REFERENCE, Severity.SUSPECT, 0.5, words, head(code.model))

    def _called(self, code: PythonCode) -> Iterator[Flag]:
        for call in code.calls_in(code.reachable):
            if call.last == _MODEL and (call.name == _MODEL or "." in call.name):
                words = f"the reference's class {quoted(call.name)} is built and used"
                yield self.flag(Trick.INHERITS_REFERENCE, Severity.SEVERE, 0.85, words, head(call.node))
                return

    def _copied(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        problem = reading.problem
        original = problem.classes.get(_MODEL) if problem is not None else None
        forward = problem.method("forward", original) if problem is not None and original is not None else None
        assert code.model is not None
        if forward is None or code.forward is None or Own(code).calls:
            return
        mine, theirs = _shape(code.forward), _shape(forward)
        if mine == theirs:
            words = "forward is the reference's, statement by statement"
            severity = Severity.SUSPECT if Own(code).defined else Severity.SEVERE
            yield self.flag(Trick.RESUBMITS_REFERENCE, severity, 0.9, words, place(code.forward))
        elif max(len(mine), len(theirs)) < _MOST:
            alike = difflib.SequenceMatcher(None, mine, theirs, autojunk=False).ratio()
            if alike >= _ALIKE and min(len(mine), len(theirs)) > 12:
                words = "forward is almost the reference's"
                yield self.flag(
                    Trick.RESUBMITS_REFERENCE, Severity.SUSPECT, 0.7, words, place(code.forward), alike=alike
                )


def _shape(function: FunctionNode) -> list[str]:
    """The tree in order, with docstrings and annotations left out, and variables by the order of their first use."""
    order: dict[str, int] = {}
    found: list[str] = []
    body = function.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        word = type(node).__name__
        if isinstance(node, ast.Name):
            word = f"name {order.setdefault(node.id, len(order))}" if node.id != "self" else "self"
        elif isinstance(node, ast.Attribute):
            word = f"attribute {node.attr}"
        elif isinstance(node, ast.Constant):
            word = f"constant {node.value!r:.60}"
        elif isinstance(node, ast.expr_context):
            continue
        found.append(word)
        waiting += reversed(list(ast.iter_child_nodes(node)))
    return found
