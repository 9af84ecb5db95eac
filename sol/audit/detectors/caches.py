"""Answers kept from one call to the next, and given again for what looks like the same input."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector
from sol.audit.python.code import FunctionNode, PythonCode, head
from sol.audit.python.flow import Flow, called, flow_of, key, root
from sol.audit.python.sights import Sight, Sights
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_MEMO = frozenset({"functools.lru_cache", "functools.cache", "joblib.Memory"})
_STORES = frozenset({"setdefault", "append", "update", "insert", "put"})
_SURE = {Trick.CACHE_BY_OBJECT: 0.9, Trick.CACHE_BY_POINTER: 0.9, Trick.CACHE_BY_FINGERPRINT: 0.85}


class Caches(SourceDetector):
    """Something that outlives a call holds a value of the inputs, and a look at the inputs decides whether to use it.

    Buffers by shape, compiled kernels by type and packed weights hold no value of an input, and stay clean.
    """

    name = "caches"
    tricks = tuple(_SURE)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """In forward and the functions that it reaches."""
        yield from self._memoised(code)
        for function in code.called:
            if not isinstance(function, FunctionNode):
                continue
            inputs = {a.arg for a in function.args.args} - {"self", "cls"}
            kept = _kept(function, inputs)
            if not kept or not _given_again(function, set(kept), flow_of(function)):
                continue
            sights = Sights(flow_of(function), inputs, set(kept))
            for look in _looks(function, set(kept)):
                trick = _by_what(sights.of(look))
                if trick is not None:
                    words = f"{quoted(kept[0])} keeps a result of the inputs and is used by what they look like"
                    yield self.flag(trick, Severity.SEVERE, _SURE[trick], words, head(look))
                    break

    def _memoised(self, code: PythonCode) -> Iterator[Flag]:
        for function in code.called:
            for decorator in function.decorator_list if isinstance(function, FunctionNode) else ():
                node = decorator.func if isinstance(decorator, ast.Call) else decorator
                if (
                    code.names.of(node) in _MEMO
                    and isinstance(function, FunctionNode)
                    and _given_tensors(code, function)
                ):
                    words = f"{quoted(function.name)} is given an input and remembers its answers"
                    yield self.flag(Trick.CACHE_BY_OBJECT, Severity.SEVERE, 0.8, words, head(decorator))


def _given_tensors(code: PythonCode, function: FunctionNode) -> bool:
    """Whether a call of the function hands an input on as it is."""
    if function is code.forward:
        return True
    inputs = set(code.inputs)
    calls = [n for n in code.nodes if isinstance(n, ast.Call) and called(n) == function.name]
    return any(isinstance(a, ast.Name) and a.id in inputs for call in calls for a in call.args)


def _kept(function: FunctionNode, inputs: set[str]) -> list[str]:
    """Attributes and outer variables that are given a value of the inputs: ``self.y = f(x)``, ``KEPT[k] = f(x)``."""
    outer = {n for node in walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for n in node.names}
    local = {a.arg for a in function.args.args} | _assigned(function) - outer
    plain, whole = flow_of(function, effects=False), flow_of(function)

    def holds(value: ast.expr) -> bool:
        """A buffer that is stored when it is made, and written afterwards, holds no value yet."""
        name = key(value)
        late = name is not None and whole.written.get(name, value.lineno) < value.lineno
        return (whole if late else plain).rests(value, inputs)

    found = []
    for node in walk(function):
        if isinstance(node, ast.Assign) and holds(node.value):
            names = [root(target) for target in node.targets]
        elif isinstance(node, ast.Call) and called(node) in _STORES and any(holds(a) for a in node.args):
            names = [root(node.func.value)] if isinstance(node.func, ast.Attribute) else []
        else:
            continue
        found += [name for name in names if name is not None and (name.startswith("self.") or name not in local)]
    return found


def _given_again(function: FunctionNode, kept: set[str], flow: Flow) -> bool:
    """Whether what is kept is returned, or copied into what is."""
    waiting, seen = [root(value) for value in flow.returns], set()
    for value in flow.returns:
        waiting += [root(part) for part in walk(value) if isinstance(part, ast.IfExp | ast.Subscript)]
        if isinstance(value, ast.IfExp):
            waiting += [root(value.body), root(value.orelse)]
    while waiting:
        name = waiting.pop()
        if name in kept:
            return True
        if name is not None and name not in seen:
            seen.add(name)
            waiting += [root(value) for value in flow.values.get(name, ())]
    copies = [n for n in walk(function) if isinstance(n, ast.Call) and called(n) == "copy_"]
    return any(root(argument) in kept for copy in copies for argument in copy.args)


def _assigned(function: FunctionNode) -> set[str]:
    """Plain names that the function binds."""
    return {n.id for n in walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _looks(function: FunctionNode, kept: set[str]) -> Iterator[ast.expr]:
    """Expressions by which what is kept is found: keys, tests, arguments of ``get``."""
    for node in walk(function):
        if isinstance(node, ast.Subscript) and root(node.value) in kept:
            yield node.slice
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node.test
        elif isinstance(node, ast.Call) and called(node) in ("get", "setdefault", "hasattr", "getattr"):
            yield from node.args
        elif isinstance(node, ast.Compare) and any(root(c) in kept for c in node.comparators):
            yield node.left


def _by_what(seen: Sight) -> Trick | None:
    """By what of the inputs an expression finds what is kept."""
    if Sight.INPUT not in seen:
        return None
    if Sight.POINTER in seen:
        return Trick.CACHE_BY_POINTER
    if Sight.IDENTITY in seen:
        return Trick.CACHE_BY_OBJECT
    if seen & (Sight.PRINT | Sight.ELEMENT):
        return Trick.CACHE_BY_FINGERPRINT
    return Trick.CACHE_BY_OBJECT if Sight.WHOLE in seen else None
