"""Hooks into native functions and into other processes."""

from __future__ import annotations

from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode, head
from sol.audit.python.names import constant_text
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_CXX = ("ptrace", "process_vm_readv", "process_vm_writev", "mprotect", "dlsym", "dlvsym", "plthook_open",
        "pkey_mprotect",
        "memfd_create", "userfaultfd", "perf_event_open")  # fmt: skip
_TIMERS = frozenset({"clock_gettime", "gettimeofday", "cudaEventRecord", "cudaEventElapsedTime",
                     "cudaEventSynchronize",
                     "cudaDeviceSynchronize", "cudaStreamSynchronize", "clock", "time", "cudaEventRecordWithFlags",
                     "cuEventElapsedTime", "cuEventRecord", "clock_nanosleep", "__clock_gettime"})  # fmt: skip
_PY_NATIVE = frozenset({"ptrace", "process_vm_readv", "process_vm_writev", "mprotect", "clock_gettime"})
_PYTHON_API = ("ctypes.pythonapi", "ctypes.memmove", "ctypes.memset")


class Native(SourceDetector):
    """Functions of the system that no kernel needs, and functions of that name defined anew."""

    name = "native"
    tricks = (Trick.NATIVE_HOOKS,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """ctypes on the C library or the interpreter, memory of processes, preloading."""
        for call in code.calls:
            libc = call.last in ("CDLL", "PyDLL") and _is_system(call.node.args[0] if call.node.args else None)
            if call.last in _PY_NATIVE and call.name not in ("time.clock_gettime",):
                words = f"{quoted(call.name)}: another process or protected memory is reached"
                yield self.flag(Trick.NATIVE_HOOKS, Severity.SEVERE, 0.9, words, head(call.node))
            elif libc:
                words = "the C library or the process itself is opened by ctypes"
                yield self.flag(Trick.NATIVE_HOOKS, Severity.SUSPECT, 0.7, words, head(call.node))
            elif call.name.startswith(_PYTHON_API):
                words = f"{quoted(call.name)}: memory is written behind the interpreter's back"
                yield self.flag(Trick.NATIVE_HOOKS, Severity.SEVERE, 0.8, words, head(call.node))
        for text, node in code.texts:
            if text in ("LD_PRELOAD", "LD_AUDIT") or (text.startswith("/proc/") and text.endswith("/mem")):
                words = f"{quoted(text)}: native functions are replaced or memory is read"
                yield self.flag(Trick.NATIVE_HOOKS, Severity.SEVERE, 0.85, words, head(node))

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Calls, and definitions that shadow the timers'."""
        for call in unit.called(*_CXX):
            next_one = any(token.text == "RTLD_NEXT" for argument in call.arguments for token in argument)
            severe = call.last not in ("dlsym", "mprotect") or next_one or call.last == "mprotect"
            words = f"{call.last}: native functions or other processes are reached"
            severity = Severity.SEVERE if severe else Severity.SUSPECT
            yield self.flag(Trick.NATIVE_HOOKS, severity, 0.85 if severe else 0.6, words, line(call.line))
        for function in unit.functions:
            if function.name in _TIMERS and not any(t.text == "." for t in function.header):
                words = f"{function.name} is defined anew"
                yield self.flag(Trick.NATIVE_HOOKS, Severity.SEVERE, 0.85, words, function.place)
        for token in unit.strings:
            if token.text.startswith("/proc/") and token.text.endswith("/mem") and "self" not in token.text:
                words = "another process's memory is opened"
                yield self.flag(Trick.NATIVE_HOOKS, Severity.SEVERE, 0.85, words, line(token.line))


def _is_system(argument: object) -> bool:
    value = getattr(argument, "value", "")
    if argument is not None and value is None:
        return True
    text = constant_text(argument) if argument is not None else None  # type: ignore[arg-type]
    return bool(text) and (text or "").startswith(("libc.", "libc-", "libcuda", "libpthread", "libdl"))
