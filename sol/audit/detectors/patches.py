"""Names of other modules that the candidate gives a new meaning: timers, events, comparisons."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.tokens import Kind, Token
from sol.audit.cxx.unit import Unit, python_run
from sol.audit.python.code import PythonCode, head
from sol.audit.python.names import constant_text
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_TIMERS = ("time.", "timeit.", "torch.cuda.Event", "torch.cuda.synchronize", "torch.Event", "torch.cuda.event",
           "torch.utils.benchmark", "torch.profiler", "triton.testing", "torch.cuda.elapsed_time", "datetime.",
           "torch.cuda.streams.Event", "torch.cuda.current_stream", "torch.autograd.profiler",
           "sys.modules.time")  # fmt: skip
_SETTINGS = ("torch.backends.", "torch._dynamo.config.", "torch._inductor.config.", "sys.dont_write_bytecode",
             "sys.stdout", "sys.stderr", "torch.set_")  # fmt: skip
_SETTERS = frozenset({"setattr", "builtins.setattr", "object.__setattr__", "type.__setattr__"})
_TIMER_NAMES = frozenset({"perf_counter", "perf_counter_ns", "time", "time_ns", "monotonic", "process_time", "Event",
                          "elapsed_time", "synchronize", "record", "default_timer", "do_bench"})  # fmt: skip
_STATISTIC_NAMES = frozenset(
    {"allclose", "equal", "isclose", "assert_close", "median", "mean", "quantile", "fmean"}
)
_SET = re.compile(r"\.(\w+)\s*=(?!=)")
_MODULES = frozenset({"types.ModuleType", "importlib.util.module_from_spec"})
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
            if name == "sys.modules.?" and _is_new_module(code, node):
                words = "a module that is made here is entered under a name of its own"
                yield self.flag(trick, Severity.SUSPECT, 0.4, words, head(node))
                continue
            words = f"{quoted(name)} is given another meaning"
            yield self.flag(trick, Severity.SEVERE, 0.95, words, head(node))

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Attributes of Python's modules that C++ sets: by the C API, or by pybind's ``attr``."""
        for call in unit.called("PyObject_SetAttrString", "PyObject_SetAttr", "PyModule_AddObject", "setattr"):
            yield from self._set(call.arguments, call.line)
        for place, token in enumerate(unit.code[:-4]):
            opened = token.text == "attr" and unit.code[place + 1].text == "("
            if opened and [t.text for t in unit.code[place + 3 : place + 5]] == [")", "="]:
                yield from self._set([unit.code[place + 2 : place + 3]], token.line)

        for text, number in python_run(unit):
            for name in _SET.findall(text):
                yield from self._named(name, number)

    def _named(self, name: str, number: int) -> Iterator[Flag]:
        if name in _TIMER_NAMES or name in _STATISTIC_NAMES:
            trick = Trick.PATCHED_TIMER if name in _TIMER_NAMES else Trick.PATCHED_STATISTICS
            words = f"{quoted(name)} of a Python module is given another meaning from C++"
            yield self.flag(trick, Severity.SEVERE, 0.9, words, line(number))

    def _set(self, arguments: Sequence[Sequence[Token]], number: int) -> Iterator[Flag]:
        said = [token.text for part in arguments for token in part if token.kind is Kind.STRING]
        for name in said:
            yield from self._named(name, number)


def _is_new_module(code: PythonCode, node: ast.AST) -> bool:
    """``sys.modules[name] = module`` of what ``types.ModuleType`` or ``module_from_spec`` made."""
    value = node.value if isinstance(node, ast.Assign) else None
    values = code.bound.get(value.id, []) if isinstance(value, ast.Name) else [value]
    made = [code.names.of(each.func) for each in values if isinstance(each, ast.Call)]
    return bool(made) and len(made) == len(values) and set(made) <= _MODULES


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
