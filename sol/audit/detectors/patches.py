"""Names of other modules that the candidate gives a new meaning: timers, events, comparisons."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector
from sol.audit.python.code import PythonCode, head
from sol.audit.python.names import constant_text
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_TIMERS = ("time.", "timeit.", "torch.cuda.Event", "torch.cuda.synchronize", "torch.Event", "torch.cuda.event",
           "torch.utils.benchmark", "torch.profiler", "triton.testing", "torch.cuda.elapsed_time", "datetime.",
           "torch.cuda.streams.Event", "torch.cuda.current_stream", "torch.autograd.profiler")  # fmt: skip
_SETTINGS = ("torch.backends.", "torch._dynamo.config.", "torch._inductor.config.", "sys.dont_write_bytecode",
             "sys.stdout", "sys.stderr", "torch.set_")  # fmt: skip
_SETTERS = frozenset({"setattr", "builtins.setattr", "object.__setattr__", "type.__setattr__"})
_PATCHERS = ("unittest.mock.patch", "mock.patch", "unittest.mock.patch.object")


class Patches(SourceDetector):
    """Assignments to attributes of imported modules and their classes; settings of torch's backends are legal."""

    name = "patches"
    tricks = (Trick.PATCHED_TIMER, Trick.PATCHED_STATISTICS)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Assignments, ``setattr``, ``mock.patch``, and writes into a module's dictionary."""
        for name, node in _changed(code):
            if name.startswith(_SETTINGS) or not (code.names.imported(name) or name.startswith("builtins.")):
                continue
            trick = Trick.PATCHED_TIMER if name.startswith(_TIMERS) else Trick.PATCHED_STATISTICS
            words = f"{quoted(name)} is given another meaning"
            yield self.flag(trick, Severity.SEVERE, 0.95, words, head(node))


def _changed(code: PythonCode) -> Iterator[tuple[str, ast.AST]]:
    for node in code.nodes:
        if isinstance(node, ast.Assign | ast.AugAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                    name = _target(code, part)
                    if name is not None:
                        yield name, node
    for call in code.calls:
        arguments = call.node.args
        if call.name in _SETTERS and len(arguments) >= 2:
            yield f"{code.names.of(arguments[0]) or '?'}.{constant_text(arguments[1]) or '?'}", call.node
        elif call.name.startswith(_PATCHERS) and arguments:
            first = constant_text(arguments[0]) or f"{code.names.of(arguments[0])}.{constant_text(arguments[-1])}"
            yield first, call.node


def _target(code: PythonCode, target: ast.expr) -> str | None:
    """The dotted name that is assigned to: ``time.perf_counter``, ``time.__dict__["perf_counter"]``."""
    if isinstance(target, ast.Attribute):
        return code.names.of(target)
    if isinstance(target, ast.Subscript):
        inner = target.value
        name = constant_text(target.slice)
        if isinstance(inner, ast.Attribute) and inner.attr == "__dict__" and name:
            return f"{code.names.of(inner.value)}.{name}"
        if isinstance(inner, ast.Call) and code.names.of(inner.func) == "vars" and inner.args and name:
            return f"{code.names.of(inner.args[0])}.{name}"
        if code.names.of(inner) == "sys.modules":
            return f"sys.modules.{name or '?'}"
    return None
