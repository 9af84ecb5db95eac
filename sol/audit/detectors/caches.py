"""Answers kept from one call to the next, and given again for what looks like the same input."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector
from sol.audit.python.code import FunctionNode, PythonCode, head
from sol.audit.python.flow import Flow, called, key, root, values_of
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_POINTERS = frozenset({"data_ptr", "storage", "untyped_storage", "_cdata", "const_data_ptr"})
_PRINTS = frozenset({"shape", "size", "sum", "item", "tolist", "mean", "norm", "numel", "hash", "hex", "tobytes",
                     "digest", "hexdigest", "equal", "allclose", "dtype", "stride", "_version", "numpy"})  # fmt: skip
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
            kept, flow = _kept(function, inputs), Flow(function)
            if not kept or not _given_again(function, set(kept), flow):
                continue
            for look in _looks(function, set(kept)):
                trick = _by_what(look, inputs, flow, set(kept))
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
    outer = {n for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for n in node.names}
    local = {a.arg for a in function.args.args} | _assigned(function) - outer
    plain, whole = Flow(function, effects=False), Flow(function)

    def holds(value: ast.expr) -> bool:
        """A buffer that is stored when it is made, and written afterwards, holds no value yet."""
        name = key(value)
        late = name is not None and whole.written.get(name, value.lineno) < value.lineno
        return bool((whole if late else plain).of(value) & inputs)

    found = []
    for node in ast.walk(function):
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
        waiting += [root(part) for part in ast.walk(value) if isinstance(part, ast.IfExp | ast.Subscript)]
        if isinstance(value, ast.IfExp):
            waiting += [root(value.body), root(value.orelse)]
    while waiting:
        name = waiting.pop()
        if name in kept:
            return True
        if name is not None and name not in seen:
            seen.add(name)
            waiting += [root(value) for value in flow.values.get(name, ())]
    copies = [n for n in ast.walk(function) if isinstance(n, ast.Call) and called(n) == "copy_"]
    return any(root(argument) in kept for copy in copies for argument in copy.args)


def _assigned(function: FunctionNode) -> set[str]:
    """Plain names that the function binds."""
    return {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _looks(function: FunctionNode, kept: set[str]) -> Iterator[ast.expr]:
    """Expressions by which what is kept is found: keys, tests, arguments of ``get``."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and root(node.value) in kept:
            yield node.slice
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            yield node.test
        elif isinstance(node, ast.Call) and called(node) in ("get", "setdefault", "hasattr", "getattr"):
            yield from node.args
        elif isinstance(node, ast.Compare) and any(root(c) in kept for c in node.comparators):
            yield node.left


def _by_what(look: ast.expr, inputs: set[str], flow: Flow, kept: set[str]) -> Trick | None:
    """What of the inputs an expression looks at; names are followed into what they were given."""
    parts = list(_deep(look, flow, kept))
    about = {root(part) for part in parts} | {name for part in parts for name in values_of(part)}
    if not flow.behind({name for name in about - kept if name}) & inputs:
        return None
    words = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    words |= {called(part) for part in parts if isinstance(part, ast.Call)}
    if words & _POINTERS:
        return Trick.CACHE_BY_POINTER
    if "id" in words:
        return Trick.CACHE_BY_OBJECT
    if words & _PRINTS or any(isinstance(part, ast.Subscript) for part in parts):
        return Trick.CACHE_BY_FINGERPRINT
    plain = any(isinstance(part, ast.Name) and part.id in inputs for part in parts)
    return Trick.CACHE_BY_OBJECT if plain else None


def _deep(node: ast.AST, flow: Flow, kept: set[str]) -> Iterator[ast.AST]:
    """All parts of an expression, and of what its names were given; each name once."""
    seen: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        for part in ast.walk(waiting.pop()):
            yield part
            name = key(part)
            if name is not None and name not in kept and name not in seen:
                seen.add(name)
                waiting += flow.values.get(name, [])[:20]
