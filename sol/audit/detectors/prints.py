"""Results of an evaluation that the candidate prints itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.tokens import Kind
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode, head
from sol.audit.python.names import constant_text
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity, quoted
from sol.audit.tricks import Trick

_RESULT = re.compile(
    r"\b(outcome|verdict|compiled|correctness|correct|passed|runtime|speedup|median_s|max_diff|fast_p|score|"
    r"latency|result)\b[\\\"']*\s*[:=]",
    re.IGNORECASE,
)
_PRINTERS = frozenset({"print", "sys.stdout.write", "sys.stderr.write", "os.write", "sys.__stdout__.write",
                       "sys.stdout.buffer.write"})  # fmt: skip
_CXX_PRINTERS = ("printf", "fprintf", "puts", "fputs", "write", "fwrite", "cout", "cerr", "print", "dprintf")


class Prints(SourceDetector):
    """Printing is harmless to this harness, which reads a verdict from nobody; the words show the intent."""

    name = "prints"
    tricks = (Trick.PRINTED_RESULT,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """print and its kin, with a result among their words."""
        for call in code.calls:
            if call.name not in _PRINTERS and not call.name.endswith("stdout.write"):
                continue
            text = " ".join(_texts(call.node))
            if (found := _RESULT.search(text)) is not None:
                words = f"prints what looks like a result: {quoted(text[max(found.start() - 10, 0) :])}"
                yield self.flag(Trick.PRINTED_RESULT, Severity.SEVERE, 0.8, words, head(call.node))

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """printf, write and streams."""
        if not set(unit.words) & set(_CXX_PRINTERS):
            return
        for token in unit.strings:
            if (found := _RESULT.search(token.text)) is not None and token.kind is Kind.STRING:
                words = f"prints what looks like a result: {quoted(token.text[max(found.start() - 10, 0) :])}"
                yield self.flag(Trick.PRINTED_RESULT, Severity.SEVERE, 0.75, words, line(token.line))
                return


def _texts(call: ast.Call) -> Iterator[str]:
    for part in walk(call):
        text = constant_text(part) if isinstance(part, ast.Constant | ast.JoinedStr) else None
        if text is not None:
            yield text
        elif isinstance(part, ast.Constant) and isinstance(part.value, bytes):
            yield part.value.decode("utf-8", "replace")
        elif isinstance(part, ast.Dict):
            yield " ".join(f"{key.value!s}:" for key in part.keys if isinstance(key, ast.Constant))
