"""What flows into the result of a function: by names and assignments, without order, an over-estimate.

A call's result depends on all of its arguments and on what it is a method of; a bare call may write to any of its
arguments. Asking a tensor for its shape, type or device, or for another like it, tells nothing of its values.
"""

from __future__ import annotations

import ast

from sol.audit.python.walk import walk

_SHAPE_ATTRIBUTES = frozenset({"shape", "dtype", "device", "ndim", "is_cuda", "layout", "requires_grad"})
_SHAPE_CALLS = frozenset({"size", "dim", "numel", "stride", "is_contiguous", "element_size", "nelement", "get_device",
                          "zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like",
                          "new_zeros", "new_ones", "new_empty", "new_full", "new_tensor", "len", "isinstance", "type",
                          "data_ptr", "id"})  # fmt: skip


def key(node: ast.AST) -> str | None:
    """``x`` or ``self.x``; None for everything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
        return f"self.{node.attr}"
    return None


def root(node: ast.AST) -> str | None:
    """The variable that an expression of subscripts, attributes and methods is about."""
    while True:
        found = key(node)
        if found is not None:
            return found
        if isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return None


def values_of(node: ast.AST, *, pointers: bool = False) -> set[str]:
    """The variables whose values an expression depends on; with ``pointers`` an address stands for what lies there."""
    found: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Attribute) and part.attr in _SHAPE_ATTRIBUTES:
            continue
        if isinstance(part, ast.Call) and _asks_shape(part, pointers=pointers):
            # The size is no value; what the new tensor is filled with is one.
            waiting += [k.value for k in part.keywords]
            waiting += part.args[1:] if called(part) in ("full_like", "new_full") else []
            continue
        if isinstance(part, ast.Lambda):
            waiting.append(part.body)
            continue
        name = key(part)
        if name is not None:
            found.add(name)
            continue
        waiting += ast.iter_child_nodes(part)
    return found


def _asks_shape(call: ast.Call, *, pointers: bool) -> bool:
    """Whether a call tells nothing of values; ``x.type(…)`` is a cast, ``type(x)`` a question."""
    name = called(call)
    if name == "data_ptr":
        return not pointers
    return name in _SHAPE_CALLS and not (name == "type" and isinstance(call.func, ast.Attribute))


def called(node: ast.Call) -> str:
    """The last part of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _reached(argument: ast.AST) -> set[str | None]:
    """The variables that a call may write to through one argument: by name, by address, in a function to be called."""
    if isinstance(argument, ast.Tuple | ast.List):
        return {name for item in argument.elts for name in _reached(item)}
    if isinstance(argument, ast.Lambda):
        return {key(part) for part in walk(argument.body)}
    pointed = {root(p.func) for p in walk(argument) if isinstance(p, ast.Call) and called(p) == "data_ptr"}
    return {root(argument), *pointed}


class Flow:
    """The variables of one function and what each depends on. ``quiet`` are bare calls that write nothing.

    ``values`` are the expressions that each plain variable is given, ``written`` the first line of a bare call that may
    write to it. Without ``effects`` bare calls write nothing.
    """

    def __init__(self, function: ast.AST, quiet: frozenset[int] = frozenset(), *, effects: bool = True) -> None:
        self._effects = effects
        self.sources: dict[str, set[str]] = {}
        self.values: dict[str, list[ast.expr]] = {}
        self.written: dict[str, int] = {}
        self._quiet = quiet
        self._resting: dict[frozenset[str], set[str]] = {}
        self.returns = [n.value for n in walk(function) if isinstance(n, ast.Return) and n.value is not None]
        for node in walk(function):
            self._take(node)

    def _take(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, values_of(node.value))
                for item in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                    name = key(item)
                    if name is not None:
                        self.values.setdefault(name, []).append(node.value)
            self._call(node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            self._bind(node.target, values_of(node.value))
        elif isinstance(node, ast.For):
            self._bind(node.target, values_of(node.iter))
        elif isinstance(node, ast.With):
            for entered in node.items:
                if entered.optional_vars is not None:
                    self._bind(entered.optional_vars, values_of(entered.context_expr))
        elif isinstance(node, ast.Expr):
            self._call(node.value)

    def _bind(self, target: ast.AST, values: set[str]) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for item in target.elts:
                self._bind(item, values)
            return
        name = root(target)
        if name is not None:
            extra = values_of(target.slice) if isinstance(target, ast.Subscript) else set()
            self.sources.setdefault(name, set()).update(values | extra)

    def _call(self, node: ast.AST) -> None:
        if not isinstance(node, ast.Call) or id(node) in self._quiet or not self._effects:
            return
        everything = values_of(node, pointers=True)
        places = [*node.args, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            places.append(node.func.value)
        for part in places:
            for name in _reached(part):
                if name is not None:
                    self.sources.setdefault(name, set()).update(everything)
                    self.written.setdefault(name, node.lineno)

    def behind(self, names: set[str]) -> set[str]:
        """All variables that some depend on, themselves included."""
        seen: set[str] = set()
        waiting = set(names)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting |= self.sources.get(name, set()) - seen
        return seen

    def of(self, node: ast.AST) -> set[str]:
        """All variables that an expression depends on."""
        return self.behind(values_of(node))

    def rests(self, what: ast.AST | str | set[str], inputs: set[str]) -> bool:
        """Whether an expression or variables depend on one of the inputs: as ``behind``, for many questions."""
        known = frozenset(inputs)
        resting = self._resting.get(known)
        if resting is None:
            resting = self._resting[known] = self._ahead(inputs)
        if isinstance(what, str):
            return what in resting
        return not resting.isdisjoint(values_of(what) if isinstance(what, ast.AST) else what)

    def _ahead(self, names: set[str]) -> set[str]:
        """All variables that depend on one of the names, themselves included."""
        users: dict[str, list[str]] = {}
        for name, sources in self.sources.items():
            for source in sources:
                users.setdefault(source, []).append(name)
        seen = set(names)
        waiting = list(names)
        while waiting:
            for name in users.get(waiting.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return seen


def flow_of(function: ast.AST, *, effects: bool = True) -> Flow:
    """The flow of a function, made once for all who ask."""
    kept: dict[bool, Flow] = function.__dict__.setdefault("_flows", {})
    if effects not in kept:
        kept[effects] = Flow(function, effects=effects)
    return kept[effects]
