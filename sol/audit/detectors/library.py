"""Who does the work, by the text: libraries alone, or a trivial kernel of one's own beside them.

A library's share of the time is a measurement, which the profile detector has. By the text this is a suspicion at
most: a μCUTLASS program with torch stages is legal, and so is torch beside a fused kernel.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernels.dsl import Program
from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.spans import texts, until
from sol.audit.cxx.unit import LAUNCH, WORKSPACE, Function, Unit, calls_in
from sol.audit.mu import is_copy, is_torch, last, stages
from sol.audit.python.code import FunctionNode, PythonCode, head
from sol.audit.python.flow import Flow, root, values_of
from sol.audit.python.own import HEAVY, Own, library_calls, matrix_products, own_of
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_CXX_LIBRARY = ("cublas", "cudnn", "cublasLt", "cusparse", "cufft", "cblas_", "sgemm_", "dnnl", "mkl_")
_CXX_TORCH = ("at::", "torch::")


class Library(SourceDetector):
    """Own kernels against calls of torch, cuBLAS and cuDNN that the timed call reaches."""

    name = "library"
    tricks = (Trick.LIBRARY_ONLY, Trick.FIG_LEAF)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Python with kernels of its own, or without."""
        if code.forward is None:
            return
        own = own_of(code)
        heavy, light = library_calls(code)
        work = [*heavy, *matrix_products(code)]
        places = tuple(head(node) for node in sorted(work or light, key=lambda n: n.lineno)[:5])
        figures = {"library_calls": float(len(work) + len(light)), "own_calls": float(len(own.calls))}
        if not own.defined:
            if work or light:
                words = "the call consists of torch's functions; there is no kernel of its own"
                yield self.flag(Trick.LIBRARY_ONLY, Severity.SUSPECT, 0.6, words, *places, **figures)
            return
        if not own.calls:
            return
        if _thrown_away(code, own):
            words = "the result of its own kernel does not go into what is returned"
            yield self.flag(Trick.FIG_LEAF, Severity.SEVERE, 0.8, words, head(own.calls[0].node), **figures)
        elif work and _trivial_kernels(code):
            words = "its own kernel computes nothing, and torch does the products"
            yield self.flag(Trick.FIG_LEAF, Severity.SUSPECT, 0.75, words, *places, **figures)
        elif work:
            words = "torch does the products beside its own kernel"
            yield self.flag(Trick.FIG_LEAF, Severity.INFO, 0.4, words, *places, **figures)

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """C++ that calls libraries."""
        called = unit.reached_calls
        library = [c for c in called if c.name.startswith(_CXX_LIBRARY) and c.name not in _SET_UP]
        torch = [c for c in called if c.name.startswith(_CXX_TORCH) and c.last in HEAVY]
        found = [*library, *torch]
        loops = any(t.text in ("for", "while") for f in unit.reachable for t in f.body)
        if not found:
            return
        places = tuple(line(call.line) for call in found[:5])
        helpers = [f for f in unit.reachable if f.name not in (LAUNCH, WORKSPACE) and not calls_in_library(f)]
        if unit.raw and helpers and not loops and not unit.kernels and all(trivial(unit, f) for f in helpers):
            words = f"{found[0].name} does the work, and its own functions compute nothing"
            yield self.flag(Trick.FIG_LEAF, Severity.SUSPECT, 0.75, words, *places)
        elif not unit.launched and not loops:
            words = f"{found[0].name} does the work; no kernel of its own is launched"
            yield self.flag(Trick.LIBRARY_ONLY, Severity.SUSPECT, 0.7, words, *places)
        elif all(trivial(unit, k) for k in unit.kernels if k.name in unit.launched) and unit.launched:
            words = f"{found[0].name} does the work, and its own kernel computes nothing"
            yield self.flag(Trick.FIG_LEAF, Severity.SUSPECT, 0.75, words, *places)
        else:
            words = f"{found[0].name} beside kernels of its own"
            yield self.flag(Trick.FIG_LEAF, Severity.INFO, 0.4, words, *places)

    def program(self, program: Program, reading: Reading) -> Iterator[Flag]:
        """μCUTLASS: torch stages are legal; what counts is who does the products."""
        all_stages = stages(program)
        torch = [stage for stage in all_stages if is_torch(stage)]
        if not torch:
            return
        own = [stage for stage in all_stages if not is_torch(stage)]
        places = tuple(line(stage.span.line) for stage in torch[:5])
        figures = {"stages": float(len(all_stages)), "torch_stages": float(len(torch))}
        if not own:
            words = "every stage is torch's: a program of torch stages alone is no kernel"
            yield self.flag(Trick.LIBRARY_ONLY, Severity.SUSPECT, 0.8, words, *places, **figures)
        elif any(last(stage) in HEAVY for stage in torch) and not any(stage.op in _PRODUCTS for stage in own):
            trivial_ones = all(stage.op in ("cast", "relayout", "pad") or is_copy(stage) for stage in own)
            severity = Severity.SUSPECT if trivial_ones else Severity.INFO
            words = "torch's stages do the products"
            yield self.flag(Trick.FIG_LEAF, severity, 0.7 if trivial_ones else 0.4, words, *places, **figures)
        else:
            words = f"{len(torch)} of {len(all_stages)} stages are torch's"
            yield self.flag(Trick.FIG_LEAF, Severity.INFO, 0.3, words, *places, **figures)


_SET_UP = frozenset({"cublasCreate", "cublasDestroy", "cublasSetStream", "cudnnCreate", "cublasSetMathMode"})
_PRODUCTS = frozenset({"gemm", "bmm", "grouped_gemm", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
                       "conv_transpose2d", "conv_transpose3d"})  # fmt: skip


def calls_in_library(function: Function) -> bool:
    """Whether a function hands work to a library."""
    return any(call.name.startswith(_CXX_LIBRARY) for call in calls_in(function.body))


def trivial(unit: Unit, kernel: Function) -> bool:
    """Whether a kernel writes elements as it finds them, times 1 or plus 0 at most, or writes nothing."""
    if unit.mentioned(kernel) & {"asm", "wmma", "mma_sync", "atomicAdd", "__shared__"}:
        return False
    words = texts(kernel.body)
    if list(calls_in(kernel.body)) or "+=" in words:
        return False
    for index, word in enumerate(words):
        if word == "=" and index and words[index - 1] == "]":
            end = until(words, ";", index)
            right = words[index + 1 : end]
            if right[-2:] in (["*", "1.0f"], ["+", "0.0f"], ["*", "1"], ["+", "0"], ["*", "1.f"]):
                right = right[:-2]
            outside = _outside_of_brackets(right)
            if outside & {"*", "+", "-", "/", "?"}:
                return False
    return True


def _outside_of_brackets(words: list[str]) -> set[str]:
    depth, found = 0, set()
    for word in words:
        depth += (word == "[") - (word == "]")
        if depth == 0:
            found.add(word)
    return found


def _trivial_kernels(code: PythonCode) -> bool:
    """Whether all kernels in its strings are trivial; Triton's are: one load, one store, nothing between."""
    kernels = [(unit, kernel) for unit in code.cxx for kernel in unit.kernels]
    if kernels:
        return all(trivial(unit, kernel) for unit, kernel in kernels) and not code.jitted
    return bool(code.jitted) and all(_trivial_jit(function) for function in code.jitted.values())


def _trivial_jit(function: FunctionNode) -> bool:
    stores = [n for n in walk(function) if isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "store"]
    flow = Flow(function)
    for store in stores:
        value = store.args[1] if len(store.args) > 1 else None
        for _ in range(8):
            if isinstance(value, ast.Name) and len(flow.values.get(value.id, ())) == 1:
                value = flow.values[value.id][0]
        if not (isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "load"):
            return False
    return True


def _thrown_away(code: PythonCode, own: Own) -> bool:
    """Whether forward's result is the same without its own kernels: they stand in bare calls on inputs or on names
    that do not reach the result."""
    forward = code.forward
    if forward is None:
        return False
    nodes = {id(call.node) for call in own.calls}
    inside = [n for n in walk(forward) if id(n) in nodes]
    given = {id(n.value): n for n in walk(forward) if isinstance(n, ast.Assign)}
    if not inside or len(inside) < len(nodes):
        return False
    bare = {id(n.value) for n in walk(forward) if isinstance(n, ast.Expr)}
    flow = Flow(forward, frozenset(nodes))
    reaching = flow.behind({name for value in flow.returns for name in values_of(value)})
    roots = {root(value) for value in flow.returns}
    inputs = set(code.inputs)
    for call in inside:
        if id(call) in bare:
            arguments = set().union(*(values_of(a, pointers=True) for a in getattr(call, "args", [])))
            # An input or a weight is not where a result goes.
            places = {a for a in arguments - inputs if not a.endswith(("weight", "bias"))}
            if places & reaching or places & roots:
                return False
        elif not _unused_name(given.get(id(call)), reaching):
            return False
    return True


def _unused_name(given: ast.Assign | None, reaching: set[str]) -> bool:
    return given is not None and all(isinstance(t, ast.Name) and t.id not in reaching for t in given.targets)
