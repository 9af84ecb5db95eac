"""Calls that are counted, and what depends on the count."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector
from sol.audit.python.code import FunctionNode, PythonCode, head
from sol.audit.python.flow import called, flow_of, key, root, values_of
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick


class Counters(SourceDetector):
    """A number that grows with each call and decides something. A flag that is set once is none."""

    name = "counters"
    tricks = (Trick.WARM_UP_DETECTION, Trick.WARM_UP_COPY, Trick.BATCHED_CALLS)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Attributes and outer names that forward counts up."""
        for function in code.called:
            if not isinstance(function, FunctionNode):
                continue
            counts = _counts(function)
            tests = [n.test for n in walk(function) if isinstance(n, ast.If | ast.IfExp | ast.While)]
            flow = flow_of(function, effects=False)
            deciding = [test for test in tests if flow.rests(_names(test), counts)]
            keeps = _keeps(function)
            if deciding and keeps:
                words = f"after some calls {quoted(sorted(keeps)[0])} is returned, which an earlier call computed"
                yield self.flag(Trick.WARM_UP_COPY, Severity.SEVERE, 0.85, words, head(deciding[0]))
            elif deciding:
                words = f"{quoted(sorted(counts)[0])} counts calls and decides what is done"
                yield self.flag(Trick.WARM_UP_DETECTION, Severity.SEVERE, 0.8, words, head(deciding[0]))
            elif keeps and (first := _once(function, keeps)) is not None:
                words = f"{quoted(sorted(keeps)[0])} is computed in the first call and returned in all"
                yield self.flag(Trick.WARM_UP_COPY, Severity.SEVERE, 0.85, words, head(first))
            yield from self._pops(function, keeps)

    def _pops(self, function: FunctionNode, keeps: set[str]) -> Iterator[Flag]:
        """Answers that are taken from a list, one a call."""
        for node in walk(function):
            taken = (isinstance(node, ast.Call) and called(node) in ("pop", "popleft")) or (
                isinstance(node, ast.Call) and called(node) == "next"
            )
            if taken and isinstance(node, ast.Call):
                owner = root(node.func) if called(node) != "next" else root(node.args[0]) if node.args else None
                if owner is not None and owner.startswith("self."):
                    words = f"answers are taken from {quoted(owner)}, one a call"
                    yield self.flag(Trick.BATCHED_CALLS, Severity.SEVERE, 0.7, words, head(node))
                    return


def _names(test: ast.expr) -> set[str]:
    return {name for part in walk(test) if (name := key(part)) is not None}


def _counts(function: FunctionNode) -> set[str]:
    """``self.calls += 1``, ``global n; n += 1``, ``CALLS.append(…)``, ``self.n = self.n + 1``, ``CALLS[0] += 1``."""
    outer = {n for node in walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for n in node.names}
    local = {n.id for n in walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - outer
    local |= {a.arg for a in function.args.args}
    found: set[str] = set()
    for node in walk(function):
        name, value = None, None
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
            name, value = root(node.target), node.value
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and len(node.targets) == 1:
            name = root(node.targets[0])
            value = node.value.right if name in values_of(node.value.left) else None
        elif isinstance(node, ast.Call) and called(node) == "append" and isinstance(node.func, ast.Attribute):
            name, value = root(node.func.value), node.args[0] if node.args else None
        elif isinstance(node, ast.Call) and called(node) == "next" and node.args:
            name, value = root(node.args[0]), ast.Constant(1)
        stays = name is not None and (name.startswith("self.") or name not in local)
        if stays and isinstance(value, ast.Constant) and name is not None:
            found.add(name)
    return found


def _keeps(function: FunctionNode) -> set[str]:
    """What outlives the call, is given a value of the inputs, and is returned."""
    inputs = {a.arg for a in function.args.args} - {"self"}
    if any(isinstance(n, ast.Call) and called(n) == "replay" for n in walk(function)):
        return set()  # a graph's output is written by each replay
    flow = flow_of(function, effects=False)
    outer = {n for node in walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for n in node.names}
    returned = {r for value in flow.returns for part in walk(value) if (r := key(part)) is not None}
    copies = [n for n in walk(function) if isinstance(n, ast.Call) and called(n) == "copy_" and n.args]
    returned |= {key(copy.args[0]) or "" for copy in copies}
    stays = {name for name in returned if name.startswith("self.") or name in outer}
    return {n for n in stays if any(flow.rests(v, inputs) for v in flow.values.get(n, ()))}


def _once(function: FunctionNode, keeps: set[str]) -> ast.If | None:
    """``if self.y is None: self.y = f(x)`` where no input is asked about."""
    inputs = {a.arg for a in function.args.args} - {"self"}
    flow = flow_of(function, effects=False)
    assigns = [n for n in walk(function) if isinstance(n, ast.Assign)]
    everywhere = {id(n) for n in assigns if any(key(target) in keeps for target in n.targets)}
    if not everywhere:
        return None
    for node in walk(function):
        if isinstance(node, ast.If) and not node.orelse and not flow.rests(_names(node.test) - keeps, inputs):
            inside = {id(n) for item in node.body for n in walk(item)}
            if everywhere <= inside and not _names(node.test) & inputs:
                return node
    return None
