"""What a Python candidate returns: constants, what ignores the input, the input itself, memory nobody wrote."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector
from sol.audit.python.code import FunctionNode, PythonCode, head
from sol.audit.python.flow import Flow, called, flow_of, key, values_of
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Place, Severity
from sol.audit.tricks import Trick

_CONSTANTS = frozenset({"zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones",
                        "new_full", "eye", "arange"})  # fmt: skip
_EMPTY = frozenset({"empty", "empty_like", "new_empty", "empty_strided"})
_SAME = frozenset({"clone", "contiguous", "detach", "view", "view_as", "reshape", "flatten", "float", "squeeze",
                   "identity", "Identity", "to", "type_as", "expand", "expand_as"})  # fmt: skip


class Outputs(SourceDetector):
    """Follows each returned value back to where it comes from."""

    name = "outputs"
    tricks = (Trick.CONSTANT_OUTPUT, Trick.INPUT_IGNORED, Trick.IDENTITY, Trick.LEFTOVER_MEMORY, Trick.SHORT_OUTPUT)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Of forward's own returns."""
        forward, inputs = code.forward, set(code.inputs)
        if forward is None:
            return
        flow = flow_of(forward)
        for returned in _returns(forward):
            place = head(returned)
            if _is_nothing(returned):
                words = "forward returns no tensor"
                yield self.flag(Trick.SHORT_OUTPUT, Severity.SUSPECT, 0.7, words, place)
            elif inputs and not flow.rests(returned, inputs):
                yield self._without_input(code, returned, flow, place)
            elif _is_input(returned, flow, inputs, 0):
                words = "forward returns its input as it is"
                yield self.flag(Trick.IDENTITY, Severity.SEVERE, 0.85, words, place)

    def _without_input(self, code: PythonCode, returned: ast.expr, flow: Flow, place: Place) -> Flag:
        makers = _makers(code, returned, flow)
        if makers & _EMPTY and not makers - _EMPTY and not _is_written(returned, flow):
            words = "forward returns fresh memory that nothing was written to"
            return self.flag(Trick.LEFTOVER_MEMORY, Severity.SEVERE, 0.85, words, place)
        others = {name for name in flow.of(returned) if name.startswith("self.")}
        if makers & (_CONSTANTS | _EMPTY) and not others:
            words = "forward returns a constant: no value of an input goes into it"
            return self.flag(Trick.CONSTANT_OUTPUT, Severity.SEVERE, 0.9, words, place)
        words = "no value of an input goes into what forward returns"
        return self.flag(Trick.INPUT_IGNORED, Severity.SEVERE, 0.8, words, place)


def _returns(function: FunctionNode) -> list[ast.expr]:
    """What the function itself returns; nested functions and lambdas have returns of their own."""
    found: list[ast.expr] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Return) and node.value is not None:
            found.append(node.value)
        waiting += ast.iter_child_nodes(node)
    return found


def _is_nothing(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return not node.elts
    return isinstance(node, ast.Constant) and node.value is None


def _makers(code: PythonCode, node: ast.expr, flow: Flow) -> set[str]:
    """What is called to make a value, names followed."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        for inner in walk(waiting.pop()):
            if isinstance(inner, ast.Call):
                found.add((code.names.of(inner.func) or called(inner)).rsplit(".", 1)[-1])
            name = key(inner)
            if name is not None and name not in seen:
                seen.add(name)
                waiting += flow.values.get(name, [])[:20]
    return found


def _is_written(node: ast.expr, flow: Flow) -> bool:
    return any(name in flow.written or flow.sources.get(name) for name in values_of(node))


def _is_input(node: ast.expr, flow: Flow, inputs: set[str], depth: int) -> bool:
    """Whether an expression is an input through copies, views, and sums with nothing."""
    if depth > 6:
        return False
    if isinstance(node, ast.Name):
        if node.id in flow.written or (node.id in inputs and node.id in flow.sources):
            return False
        if node.id in inputs:
            return True
        given = flow.values.get(node.id, [])[:4]
        return bool(given) and all(_is_input(value, flow, inputs, depth + 1) for value in given)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
        return _is_input(node.func.value, flow, inputs, depth + 1)
    if isinstance(node, ast.BinOp):
        neutral = (
            0 if isinstance(node.op, ast.Add | ast.Sub) else 1 if isinstance(node.op, ast.Mult | ast.Div) else None
        )
        if neutral is not None and isinstance(node.right, ast.Constant) and node.right.value == neutral:
            return _is_input(node.left, flow, inputs, depth + 1)
    return False
