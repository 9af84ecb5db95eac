"""A torch path that takes over where the candidate's own kernel fails."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator, Sequence

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.spans import closing, names
from sol.audit.cxx.tokens import Token
from sol.audit.cxx.unit import Unit, calls_in
from sol.audit.python.code import FunctionNode, PythonCode, head
from sol.audit.python.flow import key, root
from sol.audit.python.own import Own, own_of
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_LIBRARIES = ("at::", "torch::", "cublas", "cudnn", "cblas_", "sgemm_", "dnnl", "mkl_", "cufft")
_FAILURES = frozenset({"cudaSuccess", "cudaGetLastError", "cudaPeekAtLastError", "CUDA_SUCCESS"})


class Fallback(SourceDetector):
    """A handler that computes. One that raises, or that chooses how to import, is none."""

    name = "fallback"
    tricks = (Trick.FALLBACK,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """``try`` in the call, and kernels that may be None."""
        for tree in code.called:
            if isinstance(tree, FunctionNode):
                for node in walk(tree):
                    if isinstance(node, ast.Try):
                        yield from self._tried(code, node)
        yield from self._absent(code)

    def _tried(self, code: PythonCode, node: ast.Try) -> Iterator[Flag]:
        for handler in node.handlers:
            after = [n for item in handler.body for n in walk(item)]
            if any(isinstance(n, ast.Raise) for n in after):
                continue
            computes = [n for n in after if isinstance(n, ast.Call | ast.BinOp) and not _only_says(code, n)]
            gives = any(isinstance(n, ast.Return | ast.Assign) for n in after) or _passes_to(node, handler)
            if gives and (computes or _passes_to(node, handler)):
                words = "where the try fails, something else computes the result"
                yield self.flag(Trick.FALLBACK, Severity.SEVERE, 0.75, words, head(node), head(handler))

    def _absent(self, code: PythonCode) -> Iterator[Flag]:
        """``except: own = None`` where it is built, and ``if own is None: return torch…`` in the call."""
        maybe: dict[str, ast.ExceptHandler] = {}
        makers = {id(call.node) for call in code.own_makers}
        for node in code.nodes:
            if isinstance(node, ast.Try):
                makes = any(id(n) in makers for item in node.body for n in walk(item))
                for handler in node.handlers if makes or _imports(node) else ():
                    for item in handler.body:
                        if isinstance(item, ast.Assign) and isinstance(item.value, ast.Constant):
                            maybe.update({name: handler for t in item.targets if (name := key(t))})
        own = own_of(code)
        for tree in code.called:
            for node in walk(tree) if isinstance(tree, FunctionNode) else ():
                if isinstance(node, ast.If | ast.IfExp) and (found := _asks(node.test, maybe, own)):
                    words = "where its kernel could not be built, torch computes the result"
                    yield self.flag(Trick.FALLBACK, Severity.SUSPECT, 0.65, words, head(maybe[found]), head(node))

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """``catch`` with a call of a library in it; a library behind the question whether a launch failed."""
        for function in unit.functions:
            body = function.body
            errors = {
                b.text for a, b in itertools.pairwise(body) if a.text in ("cudaError_t", "CUresult")
            } | _FAILURES
            for index, token in enumerate(body):
                if token.text == "catch" and index + 1 < len(body):
                    begin = closing(body, index + 1) + 1
                    inner = body[begin : closing(body, begin) + 1] if begin < len(body) else ()
                    torch = [c for c in calls_in(inner) if c.name.startswith(_LIBRARIES)]
                    if torch and "throw" not in names(inner):
                        words = f"where the try fails, {torch[0].name} computes the result"
                        yield self.flag(Trick.FALLBACK, Severity.SEVERE, 0.75, words, line(token.line))
                elif token.text == "if" and index + 1 < len(body):
                    begin = closing(body, index + 1)
                    if names(body[index + 1 : begin]) & errors:
                        yield from self._failed(body, begin + 1, token.line)

    def _failed(self, body: Sequence[Token], begin: int, number: int) -> Iterator[Flag]:
        """The statement or block that runs where a launch failed."""
        inner = (
            body[begin : closing(body, begin) + 1] if body[begin : begin + 1] and body[begin].text == "{" else ()
        )
        if not inner:
            end = next((i for i in range(begin, min(begin + 200, len(body))) if body[i].text == ";"), begin)
            inner = body[begin:end]
        library = [call for call in calls_in(inner) if call.name.startswith(_LIBRARIES)]
        if library:
            words = f"where the launch fails, {library[0].name} computes the result"
            yield self.flag(Trick.FALLBACK, Severity.SEVERE, 0.75, words, line(number))


def _only_says(code: PythonCode, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Add) and _has_text(node)
    name = code.names.of(node.func) or ""
    return name.startswith(("print", "warnings.", "logging.", "str", "repr", "logger.", "sys.stderr"))


def _has_text(node: ast.AST) -> bool:
    parts = list(walk(node))
    return any(isinstance(n, ast.JoinedStr) or isinstance(getattr(n, "value", None), str) for n in parts)


def _passes_to(node: ast.Try, handler: ast.ExceptHandler) -> bool:
    """``except: pass`` behind a try that returns: what follows computes."""
    passes = all(isinstance(item, ast.Pass | ast.Expr) or _sets_flag(item) for item in handler.body)
    return passes and any(isinstance(n, ast.Return) for item in node.body for n in walk(item))


def _sets_flag(item: ast.stmt) -> bool:
    """``self.ok = False``: remembered, and what follows the try computes."""
    return isinstance(item, ast.Assign) and isinstance(item.value, ast.Constant)


def _imports(node: ast.Try) -> bool:
    return any(isinstance(item, ast.Import | ast.ImportFrom) for item in node.body)


def _asks(test: ast.expr, maybe: Collection[str], own: Own) -> str | None:
    for part in walk(test):
        name = key(part)
        if name is not None and (name in maybe or (name.startswith("self.") and name in own.names and maybe)):
            return name if name in maybe else sorted(maybe)[0]
        found = root(part) if isinstance(part, ast.Attribute) else None
        if found in maybe:
            return found
    return None
