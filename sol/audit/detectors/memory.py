"""Searches for the expected output: objects of the interpreter, frames, addresses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode, head
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_SEARCHES = frozenset({"gc.get_objects", "gc.get_referrers", "gc.get_referents", "gc.get_stats",
                       "torch.cuda.memory_snapshot", "torch.cuda.memory._snapshot", "ctypes.string_at",
                       "ctypes.cast"})  # fmt: skip
_FRAMES = frozenset({"f_locals", "f_globals", "gi_frame", "tb_frame"})
_CXX = {"/proc/self/maps": 0.8, "/proc/self/mem": 0.9, "/proc/self/pagemap": 0.8}


class Memory(SourceDetector):
    """Nothing that a kernel needs is found by looking through memory."""

    name = "memory"
    tricks = (Trick.MEMORY_SEARCH,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """The collector's lists, variables of frames, other modules' variables."""
        for call in code.calls:
            if call.name in _SEARCHES and call.name != "ctypes.cast":
                words = f"{call.name}: memory is searched"
                yield self.flag(Trick.MEMORY_SEARCH, Severity.SEVERE, 0.9, words, head(call.node))
            elif call.last == "from_address":
                words = "memory is read by its address"
                yield self.flag(Trick.MEMORY_SEARCH, Severity.SEVERE, 0.8, words, head(call.node))
        # What is entered there is the detector's of patches.
        entered = {id(n.value) for n in code.nodes if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)}
        for node in code.nodes:
            attribute = getattr(node, "attr", "")
            if attribute in _FRAMES:
                words = f"{attribute}: variables of other functions are read"
                yield self.flag(Trick.MEMORY_SEARCH, Severity.SEVERE, 0.9, words, head(node))
            elif attribute == "modules" and id(node) not in entered and code.names.of(node) == "sys.modules":
                words = "sys.modules: other modules are looked through"
                yield self.flag(Trick.MEMORY_SEARCH, Severity.SUSPECT, 0.6, words, head(node))
            elif getattr(node, "id", "") == "__main__":
                yield self.flag(Trick.MEMORY_SEARCH, Severity.SUSPECT, 0.6, "__main__ is looked into", head(node))
        if "__main__" in code.names.modules:
            yield self.flag(Trick.MEMORY_SEARCH, Severity.SEVERE, 0.8, "__main__ is imported", line(1))

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """The process's own map of memory, and walks outside of what was given."""
        for token in unit.strings:
            if token.text in _CXX:
                words = f"{quoted(token.text)}: the process's memory is searched"
                yield self.flag(Trick.MEMORY_SEARCH, Severity.SEVERE, _CXX[token.text], words, line(token.line))
        for call in unit.called("dl_iterate_phdr", "malloc_usable_size", "mincore"):
            words = f"{call.last}: the process's memory is looked through"
            yield self.flag(Trick.MEMORY_SEARCH, Severity.SEVERE, 0.75, words, line(call.line))
