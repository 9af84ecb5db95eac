"""Ends processes, installs packages, or runs code that it hides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode, head
from sol.audit.python.names import constant_text
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_ENDS = frozenset({"os.kill", "os.killpg", "os._exit", "os.abort", "signal.raise_signal", "sys.exit", "exit",
                   "quit",
                   "signal.alarm", "atexit.register", "psutil.Process.kill", "signal.signal",
                   "faulthandler._sigsegv"})  # fmt: skip
_SHELLS = frozenset({"os.system", "os.popen", "subprocess.run", "subprocess.call", "subprocess.check_call",
                     "subprocess.check_output", "subprocess.getoutput", "os.execv", "os.execve", "os.execvp",
                     "pip.main", "pip._internal.main", "os.spawnv", "pty.spawn"})  # fmt: skip
_DECODERS = frozenset({"b64decode", "b85decode", "b32decode", "a85decode", "unhexlify", "fromhex", "decompress",
                       "loads",
                       "decode", "chr", "join"})  # fmt: skip
_HIDES = frozenset({"exec", "eval", "compile", "builtins.exec", "builtins.eval", "marshal.loads",
                    "types.FunctionType",
                    "types.CodeType", "importlib.util.spec_from_loader"})  # fmt: skip
_TOOLS = ("nvcc", "g++", "c++", "ptxas", "which", "clang", "nvidia-smi", "cuobjdump", "nvdisasm")
_CXX = ("kill", "system", "popen", "execve", "execv", "execvp", "execl", "execlp", "abort", "_exit", "quick_exit",
        "exit",
        "raise", "tgkill", "reboot")  # fmt: skip

_FOLLOWED = 20
"""Values of one name that are followed."""


class Sabotage(SourceDetector):
    """None of these belongs into a kernel. Calling a compiler by its name is noted only."""

    name = "sabotage"
    tricks = (Trick.SABOTAGE,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Signals, shells, decoded code."""
        for call in code.calls:
            place = head(call.node)
            if call.name in _ENDS:
                yield self.flag(Trick.SABOTAGE, Severity.SEVERE, 0.8, f"{call.name}: a process is ended", place)
            elif call.name in _SHELLS:
                yield self._shell(call.name, _words(call.node), place.first)
            elif call.name in _HIDES:
                decoded = bool(_called_in(code, call.node) & _DECODERS)
                what = constant_text(call.node.args[0]) if call.node.args else None
                severity = (
                    Severity.SEVERE if decoded or call.name.startswith(("marshal", "types")) else Severity.SUSPECT
                )
                words = f"{call.name}: code is {'decoded and ' if decoded else ''}run that cannot be read here"
                if what is None or decoded:
                    yield self.flag(Trick.SABOTAGE, severity, 0.9 if decoded else 0.6, words, place)
                else:
                    yield self.flag(Trick.SABOTAGE, Severity.SUSPECT, 0.5, f"{call.name} of a text", place)

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Signals, shells and exits."""
        for call in unit.called(*_CXX):
            qualified = call.name in (call.last, f"std::{call.last}")
            declared = unit.function(call.last) is not None
            if not call.member and qualified and not declared:
                words = f"{call.name}: a process is ended or started"
                yield self.flag(Trick.SABOTAGE, Severity.SEVERE, 0.75, words, line(call.line))

    def _shell(self, name: str, said: str, number: int) -> Flag:
        first = said.split(" ")[0].rsplit("/", 1)[-1] if said else ""
        if first.startswith(_TOOLS):
            words = f"{name}: a tool of the compiler's is called"
            return self.flag(Trick.SABOTAGE, Severity.INFO, 0.3, words, line(number))
        installs = "install" in said or "pip" in name
        words = f"{name}: {'something is installed' if installs else 'a command is run'}"
        return self.flag(Trick.SABOTAGE, Severity.SEVERE, 0.9 if installs else 0.75, words, line(number))


def _words(node: ast.Call) -> str:
    """The constant words of a command."""
    found = [text for part in ast.walk(node) if isinstance(part, ast.Constant) and (text := constant_text(part))]
    return " ".join(found)


def _called_in(code: PythonCode, node: ast.Call) -> set[str]:
    """What is called to make an argument, through names of the file."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting: list[ast.AST] = list(node.args)
    while waiting:
        for inner in ast.walk(waiting.pop()):
            if isinstance(inner, ast.Call):
                found.add((code.names.of(inner.func) or "?").rsplit(".", 1)[-1])
            elif isinstance(inner, ast.Name) and inner.id not in seen:
                seen.add(inner.id)
                waiting += code.bound.get(inner.id, [])[:_FOLLOWED]
    return found
