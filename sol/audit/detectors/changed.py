"""Batch, signature and hyper-parameters that differ from the problem's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.spans import statements, texts
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import FunctionNode, PythonCode, head, place
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_LITERAL = (ast.Constant, ast.Tuple, ast.List, ast.expr_context, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop)


class Changed(SourceDetector):
    """The harness asks the problem alone for its inputs; a file that brings others tries to make the task smaller."""

    name = "changed"
    tricks = (Trick.CHANGED_PROBLEM,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Inputs, constants and parameters of forward, beside the problem's."""
        problem = reading.problem
        if problem is None:
            return
        mine, theirs = _constants(code), _constants(problem)
        for name in ("get_inputs", "get_init_inputs"):
            function, original = code.functions.get(name), problem.functions.get(name)
            if function is None or original is None:
                continue
            used = {n.id for n in walk(function) if isinstance(n, ast.Name)}
            other = [n for n in sorted(used) if n in mine and n in theirs and mine[n][0] != theirs[n][0]]
            if other:
                words = f"{quoted(other[0])}, which {name} uses, is not the problem's"
                yield self.flag(Trick.CHANGED_PROBLEM, Severity.SEVERE, 0.85, words, head(mine[other[0]][1]))
            elif _body(function) != _body(original):
                words = f"{name} is not the problem's"
                yield self.flag(Trick.CHANGED_PROBLEM, Severity.SUSPECT, 0.6, words, place(function))
        original = problem.method("forward", problem.classes.get("Model"))
        if original is not None and code.forward is not None and not code.forward.args.vararg:
            least = len(original.args.args) - len(original.args.defaults)
            if len(code.forward.args.args) < least:
                words = "forward takes fewer arguments than the problem's"
                yield self.flag(Trick.CHANGED_PROBLEM, Severity.SUSPECT, 0.7, words, head(code.forward))
        for call in code.calls:
            if call.last in ("get_inputs", "get_init_inputs") and code.runs_in_call(call.node):
                words = f"the call makes inputs of its own by {call.last}"
                yield self.flag(Trick.CHANGED_PROBLEM, Severity.SUSPECT, 0.6, words, head(call.node))

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Constants by the problem's own names with other numbers, in what the call reaches."""
        theirs = _numbers(reading.problem) if reading.problem is not None else {}
        for name, number, where in _cxx_numbers(unit):
            plain = name.lower().lstrip("k").replace("_", "")
            value = theirs.get(plain)
            if value is not None and value != number:
                words = f"{quoted(name)} is {number}; the problem's is {value}"
                yield self.flag(Trick.CHANGED_PROBLEM, Severity.SUSPECT, 0.7, words, line(where))


def _numbers(problem: PythonCode) -> dict[str, int]:
    """Whole numbers that the problem's names of more than two letters stand for, without case and underscores."""
    found = {}
    for name, (_, node) in _constants(problem).items():
        value = node.value if isinstance(node, ast.Assign) else None
        if isinstance(value, ast.Constant) and type(value.value) is int and len(name) > 2:
            found[name.lower().replace("_", "")] = value.value
    return found


def _cxx_numbers(unit: Unit) -> Iterator[tuple[str, int, int]]:
    """``constexpr int kBatch = 64;`` and ``#define BATCH 64``: name, number, line."""
    for directive in unit.tokens.directives:
        parts = directive.text.split()
        if len(parts) == 3 and parts[0] == "#define" and parts[2].isdigit():
            yield parts[1], int(parts[2]), directive.line
    for piece in [*unit.outside, *(p for function in unit.functions for p in statements(function.body))]:
        words = texts(piece)
        if len(words) > 3 and words[-2] == "=" and words[-1].isdigit() and {"const", "constexpr"} & set(words):
            yield words[-3], int(words[-1]), piece[0].line


def _constants(code: PythonCode) -> dict[str, tuple[str, ast.AST]]:
    """Module-level names that are given a literal."""
    found: dict[str, tuple[str, ast.AST]] = {}
    for node in code.tree.body:
        if isinstance(node, ast.Assign) and all(isinstance(part, _LITERAL) for part in walk(node.value)):
            for target in node.targets:
                names, values = ([target], [node.value])
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    names, values = target.elts, node.value.elts
                for name, value in zip(names, values, strict=False):
                    if isinstance(name, ast.Name):
                        found[name.id] = (ast.dump(value), node)
    return found


def _body(function: FunctionNode) -> list[str]:
    return [ast.dump(node) for node in function.body]
