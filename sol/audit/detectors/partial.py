"""A part of the output or of the batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.spans import closing, split, texts
from sol.audit.cxx.tokens import Token
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode, head
from sol.audit.python.flow import Flow, called, flow_of, values_of
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_MAKERS = frozenset({"zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like",
                     "new_zeros",
                     "new_empty", "new_full"})  # fmt: skip
_VECTORS = ("float4", "float2", "int4", "half2", "double2", "uint4", "__m512", "__m256", "unroll", "shared")


class Partial(SourceDetector):
    """One slice is written and no other; a loop that ends at a half of its range, where nothing is wider than one."""

    name = "partial"
    tricks = (Trick.PARTIAL_OUTPUT,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Slices of what is returned, and inputs that are cut."""
        forward = code.forward
        if forward is None:
            return
        flow = flow_of(forward)
        calls = {name: [v for v in values if isinstance(v, ast.Call)] for name, values in flow.values.items()}
        made = {name for name, found in calls.items() if any(called(call) in _MAKERS for call in found)}
        returned = {n for value in flow.returns for n in values_of(value)}
        every, loops = _stores(forward), _loops(forward)
        for name in sorted((made & returned) - set(flow.written)):
            stores = every.get(name, [])
            if len(stores) == 1 and _cut(stores[0][1].slice, flow) and stores[0][0].lineno not in loops:
                words = "one slice of the output is written, and the rest is what it was made of"
                yield self.flag(Trick.PARTIAL_OUTPUT, Severity.SEVERE, 0.8, words, head(stores[0][0]))
        yield from self._skipped(code, flow)

    def _skipped(self, code: PythonCode, flow: Flow) -> Iterator[Flag]:
        """The rest is filled with what was computed for a part: ``cat([y, y])``, ``repeat``, ``expand``."""
        assert code.forward is not None
        inputs = set(code.inputs)
        cuts = [n for n in walk(code.forward) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load)
                and isinstance(n.value, ast.Name) and n.value.id in inputs and _cut(n.slice, flow)]  # fmt: skip
        starts = {ast.dump(n.slice) for n in cuts}
        if len(starts) != 1:
            return
        fills = [n for n in walk(code.forward) if isinstance(n, ast.Call)
                 and (called(n) in ("repeat", "expand", "repeat_interleave", "tile", "pad")
                      or (called(n) in ("cat", "concat", "stack") and _repeats(n)))]  # fmt: skip
        if fills:
            words = "a part of the input is used, and its result fills the rest"
            yield self.flag(Trick.PARTIAL_OUTPUT, Severity.SUSPECT, 0.7, words, head(cuts[0]), head(fills[0]))

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Loops and bounds that end early."""
        unrolled = any("unroll" in directive.text for directive in unit.tokens.directives)
        if unrolled or any(word in unit.words for word in _VECTORS):
            return
        for function in unit.reachable:
            for bound in _bounds(function.body):
                if _ends_early(bound):
                    words = "a loop or a guard ends at a part of the range"
                    yield self.flag(Trick.PARTIAL_OUTPUT, Severity.SUSPECT, 0.55, words, line(bound[0].line))
                    return


def _stores(function: ast.AST) -> dict[str, list[tuple[ast.Assign, ast.Subscript]]]:
    """``name[…] = …`` by name, each with its target."""
    found: dict[str, list[tuple[ast.Assign, ast.Subscript]]] = {}
    assigns = [node for node in walk(function) if isinstance(node, ast.Assign)]
    for assign in assigns:
        for target in assign.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                found.setdefault(target.value.id, []).append((assign, target))
    return found


def _cut(index: ast.expr, flow: Flow) -> bool:
    """Whether an index takes a part by a fraction or a number: ``[: n // 2]``, ``[:half]``, ``[::2]``, ``[0]``."""
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if isinstance(first, ast.Constant):
        return isinstance(first.value, int) and not isinstance(index, ast.Tuple)
    if not isinstance(first, ast.Slice):
        return False
    if first.step is not None and not (isinstance(first.step, ast.Constant) and first.step.value == 1):
        return True
    return any(_fraction(end, flow) for end in (first.upper, first.lower) if end is not None)


def _fraction(end: ast.expr, flow: Flow, depth: int = 0) -> bool:
    if depth > 4:
        return False
    if isinstance(end, ast.Name):
        return any(_fraction(value, flow, depth + 1) for value in flow.values.get(end.id, [])[:4])
    if isinstance(end, ast.Constant | ast.UnaryOp):
        return True
    if isinstance(end, ast.Call) and called(end) in ("int", "max", "min"):
        return any(_fraction(a, flow, depth + 1) for a in end.args if not isinstance(a, ast.Constant))
    if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Sub):
        return isinstance(end.right, ast.Constant)
    return isinstance(end, ast.BinOp) and isinstance(end.op, ast.FloorDiv | ast.Div | ast.RShift | ast.Mult)


def _loops(forward: ast.AST) -> frozenset[int]:
    """Lines within loops."""
    loops = [n for n in walk(forward) if isinstance(n, ast.For | ast.While)]
    return frozenset(line for loop in loops for line in range(loop.lineno, (loop.end_lineno or 0) + 1))


def _repeats(node: ast.Call) -> bool:
    """The same name twice, or one beside constants, in ``cat([y, y])``."""
    items = node.args[0].elts if node.args and isinstance(node.args[0], ast.List | ast.Tuple) else []
    plain = [item.id for item in items if isinstance(item, ast.Name)]
    return len(plain) != len(set(plain)) or any(isinstance(i, ast.Call) and called(i) in _MAKERS for i in items)


def _bounds(body: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Conditions of loops, and of guards that return or work."""
    for index, token in enumerate(body):
        if token.text in ("for", "if") and index + 1 < len(body) and body[index + 1].text == "(":
            inner = body[index + 2 : closing(body, index + 1)]
            parts = split(inner, ";")
            condition = parts[1] if token.text == "for" and len(parts) > 1 else inner if token.text == "if" else ()
            if condition and any(t.text in ("<", "<=", ">=") for t in condition):
                yield condition


def _ends_early(condition: Sequence[Token]) -> bool:
    """``i < n / 2``, ``i < size / 4``, ``row < m - 1``: the last thing is a division or a loss of a few."""
    words = texts(condition)
    mark = next(i for i, word in enumerate(words) if word in ("<", "<=", ">="))
    right = words[mark + 1 :]
    if words[mark] == "<=":
        return False
    return (
        len(right) >= 3
        and right[-1].isdigit()
        and int(right[-1]) > 0
        and ((right[-2] == "/" and right[-1] != "1") or (right[-2] == "-" and right[-3] not in ("(", "=")))
    )
