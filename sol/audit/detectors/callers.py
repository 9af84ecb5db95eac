"""Looks at who calls, and under which harness."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode, head
from sol.audit.python.names import constant_text
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_STACK = frozenset({"inspect.stack", "inspect.currentframe", "inspect.getouterframes", "sys._getframe",
                    "traceback.extract_stack", "traceback.format_stack", "traceback.walk_stack",
                    "inspect.getframeinfo", "sys._current_frames", "inspect.trace", "sys.settrace",
                    "sys.setprofile", "sys._getframemodulename", "traceback.print_stack"})  # fmt: skip
_HARMLESS = ("CUDA_HOME", "CUDA_PATH", "CXX", "CC", "TORCH_CUDA_ARCH_LIST", "TORCH_EXTENSIONS_DIR", "MAX_JOBS",
             "TRITON_", "OMP_NUM_THREADS", "HOME", "TMPDIR", "PATH", "CUDA_VISIBLE_DEVICES", "NVCC", "PYTORCH_",
             "CUTLASS_", "XDG_")  # fmt: skip
_CXX = (
    "backtrace",
    "__builtin_return_address",
    "backtrace_symbols",
    "unw_getcontext",
    "dladdr",
    "_Unwind_Backtrace",
)


_NEAR = 3
"""Lines between a loop's head and what it asks for."""


class Callers(SourceDetector):
    """Stack, arguments and environment of whoever runs it."""

    name = "callers"
    tricks = (Trick.CHECKER_DETECTION,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Frames, ``sys.argv`` and settings that no build asks for."""
        for call in code.calls:
            if call.name in _STACK:
                words = f"{call.name}: it looks at who calls it"
                yield self.flag(Trick.CHECKER_DETECTION, Severity.SEVERE, 0.85, words, head(call.node))
            elif call.name in ("os.environ.get", "os.getenv") and code.runs_in_call(call.node):
                asked = next((name for name in _asked(code, call.node) if not name.startswith(_HARMLESS)), None)
                if asked is not None:
                    words = f"the call asks for the setting {quoted(asked)}"
                    yield self.flag(Trick.CHECKER_DETECTION, Severity.SUSPECT, 0.6, words, head(call.node))
        for node in code.nodes:
            name = code.names.of(node) if hasattr(node, "attr") else None
            if name in ("sys.argv", "sys.orig_argv") or (name or "").endswith(".f_back"):
                words = f"{quoted(name or '')}: it looks at how it was started"
                yield self.flag(Trick.CHECKER_DETECTION, Severity.SUSPECT, 0.7, words, head(node))
                return

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """The stack, settings, and the process's own command line."""
        for call in unit.called(*_CXX):
            words = f"{call.last}: it looks at who calls it"
            yield self.flag(Trick.CHECKER_DETECTION, Severity.SEVERE, 0.85, words, line(call.line))
        for call in unit.called("getenv", "secure_getenv"):
            asked = call.arguments[0][0].text if call.arguments and call.arguments[0] else "?"
            if not asked.startswith(_HARMLESS):
                words = f"it asks for the setting {quoted(asked)}"
                yield self.flag(Trick.CHECKER_DETECTION, Severity.SUSPECT, 0.6, words, line(call.line))
        for token in unit.strings:
            if token.text.startswith("/proc/self/cmdline") or token.text in ("/proc/self/comm", "/proc/self/stat"):
                words = f"{quoted(token.text)}: it looks at how it was started"
                yield self.flag(Trick.CHECKER_DETECTION, Severity.SEVERE, 0.8, words, line(token.line))


def _asked(code: PythonCode, call: ast.Call) -> list[str]:
    """The settings that a call asks for: one, or each of a tuple that a loop goes over; ``?`` for one made up later."""
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Name):
        loops = [n for n in code.nodes if isinstance(n, ast.comprehension | ast.For)]
        over = [loop.iter for loop in loops if isinstance(loop.target, ast.Name) and loop.target.id == first.id]
        around = [each for each in over if abs(getattr(each, "lineno", 0) - call.lineno) <= _NEAR]
        items = [item for each in around if isinstance(each, ast.Tuple | ast.List) for item in each.elts]
        names = [constant_text(item) or "?" for item in items]
        return names or ["?"]
    return [str(getattr(first, "value", "?"))]
