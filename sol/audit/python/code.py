"""One Python candidate: its class and forward, what these reach, its calls, and the C++ inside its strings."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from kernels.candidates import CLASS_NAME, parsed
from sol.audit.cxx.unit import Unit
from sol.audit.python.names import Names, constant_text
from sol.audit.python.prune import prune
from sol.audit.python.walk import number, walk
from sol.audit.record import Place

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_CXX_MARKS = ("__global__", "#include", "torch::", "at::", 'extern "C"', "std::")
_OWN_MAKERS = frozenset({"load_inline", "load", "RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel",
                         "CDLL", "LoadLibrary", "PyDLL", "SourceModule", "load_library"})  # fmt: skip
_JIT = frozenset({"triton.jit", "triton.autotune", "triton.heuristics", "numba.cuda.jit", "cuda.jit", "cute.kernel",
                  "cute.jit", "cutlass.cute.kernel", "cutlass.cute.jit", "numba.njit", "numba.jit"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class PyCall:
    """One call: ``name`` is the dotted name, ``?.x`` for a method of something without one."""

    name: str
    node: ast.Call

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.name.rsplit(".", 1)[-1]

    def keyword(self, name: str) -> ast.expr | None:
        """The value of a keyword argument."""
        return next((keyword.value for keyword in self.node.keywords if keyword.arg == name), None)


class PythonCode:
    """A candidate's text, parsed once. Raises what ``kernels.candidates.parsed`` raises."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.whole = parsed(text)
        self.tree = prune(self.whole)
        self.nodes = number(self.tree)
        """All nodes of the pruned tree, in the order of the text."""
        self.names = Names(self.nodes)
        self._method_tables: dict[int, dict[str, FunctionNode]] = {}

    @cached_property
    def calls(self) -> tuple[PyCall, ...]:
        """All calls of the file."""
        return tuple(self.calls_in([self.tree]))

    def calls_in(self, trees: Iterable[ast.AST]) -> Iterator[PyCall]:
        """All calls below some nodes."""
        for tree in trees:
            for node in walk(tree):
                if isinstance(node, ast.Call):
                    yield PyCall(self.names.of(node.func) or "?", node)

    @cached_property
    def called_calls(self) -> tuple[PyCall, ...]:
        """All calls that one call runs."""
        return tuple(self.calls_in(self.called))

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """Classes by name."""
        return {node.name: node for node in self.nodes if isinstance(node, ast.ClassDef)}

    @cached_property
    def functions(self) -> dict[str, FunctionNode]:
        """Functions outside of classes by name, nested ones too."""
        methods = {id(item) for cls in self.classes.values() for item in cls.body}
        return {n.name: n for n in self.nodes if isinstance(n, FunctionNode) and id(n) not in methods}

    @cached_property
    def model(self) -> ast.ClassDef | None:
        """The candidate's class; where its name is bound to another class, that one."""
        if CLASS_NAME in self.classes:
            return self.classes[CLASS_NAME]
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                bound = {target.id for target in node.targets if isinstance(target, ast.Name)}
                if CLASS_NAME in bound:
                    return self.classes.get(node.value.id)
        return None

    def method(self, name: str, owner: ast.ClassDef | None = None) -> FunctionNode | None:
        """A method of the candidate's class, or of one that it inherits here."""
        cls: ast.ClassDef | None = owner or self.model
        for _ in range(8):
            if cls is None:
                return None
            found = self._methods(cls).get(name)
            if found is not None:
                return found
            bases = [base.id for base in cls.bases if isinstance(base, ast.Name)]
            cls = next((self.classes[base] for base in bases if base in self.classes), None)
        return None

    def _methods(self, cls: ast.ClassDef) -> dict[str, FunctionNode]:
        """A class's own methods by name, the first of each."""
        known = self._method_tables.get(id(cls))
        if known is None:
            known = self._method_tables[id(cls)] = {}
            for item in cls.body:
                if isinstance(item, FunctionNode):
                    known.setdefault(item.name, item)
        return known

    @cached_property
    def forward(self) -> FunctionNode | None:
        """What is called and timed."""
        return self.method("forward") or self.method("__call__")

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The parameters of forward, without self."""
        if self.forward is None:
            return ()
        arguments = self.forward.args
        found = [a.arg for a in (*arguments.posonlyargs, *arguments.args)][1:]
        found += [a.arg for a in arguments.kwonlyargs]
        return (*found, *([arguments.vararg.arg] if arguments.vararg else []))

    @cached_property
    def called(self) -> tuple[ast.AST, ...]:
        """What one call runs: forward and the functions, methods and classes of the file that it reaches."""
        from sol.audit.python.reach import reached  # it needs this class

        return reached(self, [self.forward] if self.forward else [])

    @cached_property
    def reachable(self) -> tuple[ast.AST, ...]:
        """What building and calling reach: as ``called``, from ``__init__`` too."""
        from sol.audit.python.reach import reached

        starts = [node for node in (self.forward, self.method("__init__")) if node is not None]
        return reached(self, starts)

    def runs_in_call(self, node: ast.AST) -> bool:
        """Whether a node is run by forward."""
        return getattr(node, "lineno", 0) in self._called_lines

    @cached_property
    def _called_lines(self) -> frozenset[int]:
        """Lines of functions, classes and lambdas that a call runs."""
        kinds = FunctionNode | ast.ClassDef | ast.Lambda
        spans = sorted((place(f).first, place(f).last) for f in self.called if isinstance(f, kinds))
        found: set[int] = set()
        behind = 0
        for first, last in spans:
            found.update(range(max(first, behind + 1), last + 1))
            behind = max(behind, last)
        return frozenset(found)

    @cached_property
    def jitted(self) -> dict[str, FunctionNode]:
        """Functions that a compiler of kernels takes, by decorator."""
        found = {}
        for name, function in self.functions.items():
            for decorator in function.decorator_list:
                node = decorator.func if isinstance(decorator, ast.Call) else decorator
                if self.names.of(node) in _JIT:
                    found[name] = function
        return found

    @cached_property
    def own_makers(self) -> tuple[PyCall, ...]:
        """Calls that build or load kernels of the candidate's own."""
        return tuple(c for c in self.calls if c.last in _OWN_MAKERS and c.name not in ("torch.load", "json.load"))

    @cached_property
    def bound(self) -> dict[str, list[ast.expr]]:
        """What each plain name is given by assignments, anywhere in the file."""
        found: dict[str, list[ast.expr]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, []).append(node.value)
        return found

    @cached_property
    def texts(self) -> tuple[tuple[str, ast.AST], ...]:
        """Every text of constants, the longest sums once, without docstrings' being told apart."""
        inner: set[int] = set()
        found = []
        for node in self.nodes:
            if id(node) in inner or not isinstance(node, ast.Constant | ast.BinOp | ast.JoinedStr | ast.Call):
                continue
            text = constant_text(node)
            if text is not None:
                inner.update(id(child) for child in walk(node))
                found.append((text, node))
        return tuple(found)

    @cached_property
    def cxx(self) -> tuple[Unit, ...]:
        """The C++ in its strings, each with the lines of this file."""
        roots = frozenset(text for text, _ in self.texts if text.isidentifier())
        attributes = frozenset(node.attr for node in self.nodes if isinstance(node, ast.Attribute))
        found = [(text, node) for text, node in self.texts if _is_cxx(text)]
        if not found:
            return ()
        units = tuple(Unit(text, getattr(node, "lineno", 1)) for text, node in found)
        # What one text defines, another may call: each is reached from the names of all others.
        times = Counter(word for unit in units for word in unit.words)
        for unit in units:
            unit.roots = frozenset(w for w in unit.words if times[w] > 1 or w in roots or w in attributes)
        return units


def _is_cxx(text: str) -> bool:
    return ";" in text and any(mark in text for mark in _CXX_MARKS) and ("{" in text or "(" in text)


def place(node: ast.AST) -> Place:
    """The lines of a node."""
    first = getattr(node, "lineno", 1)
    return Place(first, max(getattr(node, "end_lineno", None) or first, first))


def head(node: ast.AST) -> Place:
    """The first line of a node."""
    first = getattr(node, "lineno", 1)
    return Place(first, first)
