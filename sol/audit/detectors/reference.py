"""The problem's own module again: inherited, called, or copied."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit, python_run
from sol.audit.python.code import FunctionNode, PythonCode, head, place
from sol.audit.python.own import own_of
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_MODEL = "Model"
_BUILT = re.compile(r"\bModel\s*\(")
_CLASS = re.compile(r"class\s+Model\b")
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

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Python that is run from C++: the problem's class asked for by name, or its text in a string."""
        for token in unit.strings:
            if _CLASS.search(token.text) and "def forward" in token.text:
                words = "a string holds a model's class, for Python to run"
                yield self.flag(Trick.RESUBMITS_REFERENCE, Severity.SEVERE, 0.85, words, line(token.line))
                return
        for text, number in python_run(unit):
            if _BUILT.search(text):
                words = "Python that is run from C++ builds the reference's class"
                yield self.flag(Trick.INHERITS_REFERENCE, Severity.SEVERE, 0.85, words, line(number))
                return
        imports = unit.called("PyImport_ImportModule", "PyImport_Import", "import", "import_")
        named = [token for token in unit.strings if token.text == _MODEL]
        if imports and named:
            words = "the reference's class is taken from its module and called"
            yield self.flag(Trick.INHERITS_REFERENCE, Severity.SEVERE, 0.85, words, line(named[0].line))

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
                reaches = any(
                    getattr(n, "attr", "") in ("forward", "__call__", "__mro__") for n in walk(code.model)
                )
                severity, sure = (Severity.SUSPECT, 0.5) if reaches else (Severity.INFO, 0.3)
                yield self.flag(Trick.INHERITS_REFERENCE, severity, sure, words, head(code.model))

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
        if forward is None or code.forward is None or own_of(code).calls:
            return
        mine, theirs = _shape(code.forward), _shape(forward)
        if mine == theirs:
            words = "forward is the reference's, statement by statement"
            severity = Severity.SUSPECT if own_of(code).defined else Severity.SEVERE
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
