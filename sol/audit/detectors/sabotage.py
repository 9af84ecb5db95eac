"""Ends processes, installs packages, or runs code that it hides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode, head
from sol.audit.python.names import constant_text
from sol.audit.python.walk import walk
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
                if _runs_compiler(code, call.node):
                    words = f"{call.name}: a command is run that is found as a compiler is"
                    yield self.flag(Trick.SABOTAGE, Severity.SUSPECT, 0.4, words, place)
                else:
                    yield self._shell(call.name, _words(call.node), place.first)
            elif call.name in _HIDES and _is_problem(code, call.node, reading):
                words = f"{call.name}: the problem's own text is run, for its parameters"
                yield self.flag(Trick.SABOTAGE, Severity.INFO, 0.2, words, place)
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


def _is_problem(code: PythonCode, node: ast.Call, reading: Reading) -> bool:
    """Whether what is run is the problem's text to the letter, by itself or compiled first."""
    first = node.args[0] if node.args else None
    if isinstance(first, ast.Call) and code.names.of(first.func) == "compile" and first.args:
        first = first.args[0]
    values = code.bound.get(first.id, []) if isinstance(first, ast.Name) else []
    said = constant_text(values[0]) if len(values) == 1 else None
    problem = reading.subject.problem_text
    return said is not None and problem is not None and said.strip() == problem.strip()


def _runs_compiler(code: PythonCode, node: ast.Call) -> bool:
    """Whether the first word of a command is what ``shutil.which`` found, for a compiler's name in the file."""
    command: ast.AST | None = node.args[0] if node.args else None
    for _ in range(4):
        given = code.bound.get(command.id, []) if isinstance(command, ast.Name) else []
        command = given[0] if len(given) == 1 else command
    first = command.elts[0] if isinstance(command, ast.List) and command.elts else None
    if not isinstance(first, ast.Name):
        return False
    makers = [
        value for assign in code.nodes if isinstance(assign, ast.Assign) for value in _given(assign, first.id)
    ]
    finders = [code.functions.get(maker.func.id) for maker in makers if isinstance(maker, ast.Call)
               and isinstance(maker.func, ast.Name)]  # fmt: skip
    inside = [part for finder in [*finders, *makers] if finder is not None for part in walk(finder)]
    found = any(isinstance(part, ast.Call) and code.names.of(part.func) == "shutil.which" for part in inside)
    names = {part.id for part in inside if isinstance(part, ast.Name)}
    said = {constant_text(value) for name in names for value in code.bound.get(name, [])}
    said |= {constant_text(part) for part in inside if isinstance(part, ast.Constant)}
    return found and len(makers) == 1 and any(text in _TOOLS for text in said if text is not None)


def _given(assign: ast.Assign, name: str) -> list[ast.expr]:
    """What an assignment gives a name, in a tuple too."""
    found = []
    for target in assign.targets:
        pairs = [(target, assign.value)]
        if isinstance(target, ast.Tuple) and isinstance(assign.value, ast.Tuple):
            pairs = list(zip(target.elts, assign.value.elts, strict=False))
        found += [value for item, value in pairs if isinstance(item, ast.Name) and item.id == name]
    return found


def _words(node: ast.Call) -> str:
    """The constant words of a command."""
    found = [text for part in walk(node) if isinstance(part, ast.Constant) and (text := constant_text(part))]
    return " ".join(found)


def _called_in(code: PythonCode, node: ast.Call) -> set[str]:
    """What is called to make an argument, through names of the file."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting: list[ast.AST] = list(node.args)
    while waiting:
        for inner in walk(waiting.pop()):
            if isinstance(inner, ast.Call):
                found.add((code.names.of(inner.func) or "?").rsplit(".", 1)[-1])
            elif isinstance(inner, ast.Name) and inner.id not in seen:
                seen.add(inner.id)
                waiting += code.bound.get(inner.id, [])[:_FOLLOWED]
    return found
