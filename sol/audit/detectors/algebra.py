"""Work that algebra removes: the reference sums a product, and the candidate sums an operand instead.

Legitimate, and no reproach: the flaw is the problem's. A person settles it as such, so that its speedup is read for
what it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernels.dsl import Program
from sol.audit.base import Reading, SourceDetector, line
from sol.audit.mu import arguments, last, names_in, stages
from sol.audit.python.code import FunctionNode, PythonCode, head
from sol.audit.python.flow import called, flow_of, key
from sol.audit.python.names import constant_text
from sol.audit.python.own import library_calls, matrix_products
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_SUMS = frozenset({"sum", "mean"})
_PRODUCTS = frozenset({"linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "einsum", "Linear"})
_OWN_PRODUCTS = frozenset({"gemm", "bmm", "grouped_gemm"})


class Algebra(SourceDetector):
    """Beside a problem that sums a product: a sum of weights, and no product of the reference's size."""

    name = "algebra"
    tricks = (Trick.ALGEBRAIC_REMOVAL,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """``x @ weight.sum(0)``, in the call or where weights are made ready."""
        if not _sums_a_product(reading.problem) or code.forward is None:
            return
        for function in code.reachable:
            for node in walk(function) if isinstance(function, FunctionNode) else ():
                if isinstance(node, ast.Call) and _sums(node) and _is_weight(node):
                    words = "a weight is summed instead of the product: algebra that the problem allows"
                    yield self.flag(Trick.ALGEBRAIC_REMOVAL, Severity.SUSPECT, 0.6, words, head(node))
                    return

    def program(self, program: Program, reading: Reading) -> Iterator[Flag]:
        """A weight that goes into a reduction alone."""
        if not _sums_a_product(reading.problem):
            return
        weights = {parameter.name for parameter in program.parameters[1:]}
        known = {*weights, program.parameters[0].name, *(stage.target for stage in program.stages)}
        if any(last(stage) in _PRODUCTS | _OWN_PRODUCTS for stage in program.stages):
            return
        for stage in stages(program):
            used = names_in(arguments(stage))
            summed = last(stage) in _SUMS or (stage.op == "reduce" and used & _SUMS)
            if summed and used & weights and not used & known - weights:
                words = "a weight is summed instead of the product: algebra that the problem allows"
                yield self.flag(Trick.ALGEBRAIC_REMOVAL, Severity.SUSPECT, 0.6, words, line(stage.span.line))
                return


def _sums_a_product(problem: PythonCode | None) -> bool:
    """Whether the reference's forward sums what a product gave."""
    forward = problem.method("forward", problem.classes.get("Model")) if problem is not None else None
    if problem is None or forward is None:
        return False
    heavy, _ = library_calls(problem) if problem.forward is not None else ([], [])
    products = {id(n) for n in [*heavy, *matrix_products(problem)]}
    modules = {key(node.targets[0]) for node in problem.nodes if isinstance(node, ast.Assign)
               and isinstance(node.value, ast.Call) and called(node.value) in _PRODUCTS}  # fmt: skip
    flow = flow_of(forward)

    def is_product(node: ast.AST, depth: int = 0) -> bool:
        for part in walk(node):
            if id(part) in products or (isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult)):
                return True
            if isinstance(part, ast.Call) and (called(part) in _PRODUCTS or key(part.func) in modules - {None}):
                return True
            name = key(part)
            values = flow.values.get(name, []) if name is not None and depth < 4 else []
            if any(is_product(value, depth + 1) for value in values[:4] if value is not node):
                return True
        return False

    sums = [n for n in walk(forward) if isinstance(n, ast.Call) and called(n) in _SUMS]
    return any(is_product(node) for node in sums)


def _sums(node: ast.Call) -> bool:
    """``sum``, ``mean``, and ``einsum`` of one operand: ``"nk->k"``."""
    if called(node) != "einsum":
        return called(node) in _SUMS
    form = constant_text(node.args[0]) if node.args else None
    return form is not None and "," not in form and "->" in form


def _is_weight(node: ast.Call) -> bool:
    """``self.linear.weight.sum(0)``, ``torch.sum(self.weight, 0)``."""
    about = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    for part in [*about, *node.args[:2]]:
        words = {inner.attr for inner in walk(part) if isinstance(inner, ast.Attribute)}
        names = {inner.id for inner in walk(part) if isinstance(inner, ast.Name)}
        if any("weight" in word for word in words | names):
            return True
    return False
