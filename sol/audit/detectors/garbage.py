"""Launches that cannot succeed, and failures that nobody hears of: what was in memory passes for a result."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from sol.audit.base import Reading, SourceDetector, line
from sol.audit.cxx.spans import closing, names, split, statements, texts
from sol.audit.cxx.tokens import Kind, Token
from sol.audit.cxx.unit import Function, Unit, calls_in
from sol.audit.python.code import FunctionNode, PythonCode, head
from sol.audit.python.flow import called, flow_of, root
from sol.audit.python.own import own_of
from sol.audit.python.walk import walk
from sol.audit.record import Flag, Severity
from sol.audit.tricks import Trick

_MOST_THREADS = 1024
_MOST_AXES = (1024, 1024, 64)
_EMPTY = frozenset({"empty", "empty_like", "new_empty", "empty_strided"})
_ERRORS = frozenset({"cudaGetLastError", "cudaPeekAtLastError"})


class Garbage(SourceDetector):
    """An honest launch may fail; it says so, or does not hide it."""

    name = "garbage"
    tricks = (Trick.GARBAGE_PASSES,)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """``try: own.run(x, out)`` with ``except: pass``, where ``out`` is fresh memory that is returned."""
        own = own_of(code)
        calls = {id(call.node) for call in own.calls}
        for function in code.called:
            if not isinstance(function, FunctionNode):
                continue
            flow = flow_of(function)
            fresh = {n for n, values in flow.values.items() if any(_is_fresh(value) for value in values)}
            returned = {root(value) for value in flow.returns}
            for node in walk(function):
                if not isinstance(node, ast.Try | ast.With) or not self._is_silent(code, node):
                    continue
                parts = [part for item in node.body for part in walk(item)]
                given = {root(a) for part in parts if isinstance(part, ast.Call) and id(part) in calls
                         for a in part.args}  # fmt: skip
                if given & fresh & returned:
                    words = "where its kernel fails, fresh memory is returned as it is"
                    yield self.flag(Trick.GARBAGE_PASSES, Severity.SEVERE, 0.75, words, head(node))

    def _is_silent(self, code: PythonCode, node: ast.Try | ast.With) -> bool:
        """``except: pass``, ``with contextlib.suppress(…)``."""
        if isinstance(node, ast.Try):
            return any(all(isinstance(item, ast.Pass) for item in handler.body) for handler in node.handlers)
        entered = [item.context_expr for item in node.items]
        return any(isinstance(e, ast.Call) and code.names.of(e.func) == "contextlib.suppress" for e in entered)

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Blocks that no card takes, exceptions that end in empty braces, errors that are thrown away."""
        sizes = _sizes(unit)
        for function in unit.reachable:
            for number, threads in _blocks(function, sizes):
                words = f"a block of {threads:,} threads: no card launches it, and the output stays as it was"
                yield self.flag(
                    Trick.GARBAGE_PASSES, Severity.SEVERE, 0.8, words, line(number), threads=float(threads)
                )
        yield from self._silent(unit)

    def _unasked(self, unit: Unit, function: Function) -> Iterator[Flag]:
        """A status that a function of its own gives and ``(void)`` silences, where nothing else asks for it."""
        pieces = list(statements(function.body))
        own = {each.name for each in unit.functions}
        given = set()
        for piece in pieces:
            words = texts(piece)
            if "=" in words[1:] and any(call.name in own for call in calls_in(piece)):
                given.add(words[words.index("=") - 1])
        times = Counter(token.text for token in function.body)
        for piece in pieces:
            name = _is_silenced(piece)
            if name in given and times[name or ""] == 2:
                told = "the status of a call is silenced, and nobody asks for it"
                yield self.flag(Trick.GARBAGE_PASSES, Severity.SUSPECT, 0.5, told, line(piece[0].line))

    def _silent(self, unit: Unit) -> Iterator[Flag]:
        for function in unit.reachable:
            body = function.body
            for index, token in enumerate(body):
                if token.text == "catch" and _is_empty_handler(body, index):
                    words = "an exception ends in an empty handler: what was in the output passes for a result"
                    yield self.flag(Trick.GARBAGE_PASSES, Severity.SUSPECT, 0.6, words, line(token.line))
        for function in unit.reachable:
            yield from self._unasked(unit, function)
        pieces = [piece for function in unit.reachable for piece in statements(function.body)]
        dropped = [piece for piece in pieces if _is_dropped(piece)]
        asked = [piece for piece in pieces if names(piece) & _ERRORS and not _is_dropped(piece)]
        launched = [index for index, piece in enumerate(pieces) if any(token.text == "<<<" for token in piece)]
        behind = dropped and launched and pieces.index(dropped[-1]) > launched[0]
        if behind and not asked:
            words = "the error of a launch is cleared, and nobody asks for it"
            yield self.flag(Trick.GARBAGE_PASSES, Severity.SUSPECT, 0.6, words, line(dropped[-1][0].line))


def _is_silenced(piece: Sequence[Token]) -> str | None:
    """The name of ``(void)name;``."""
    words = texts(piece)
    return words[3] if len(words) == 4 and words[:3] == ["(", "void", ")"] else None


def _is_fresh(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and called(value) in _EMPTY


def _is_dropped(piece: Sequence[Token]) -> bool:
    """``cudaGetLastError();``, ``(void)cudaGetLastError();`` as a statement of its own."""
    words = [word for word in texts(piece) if word not in ("(", ")", "void")]
    return len(words) == 1 and words[0] in _ERRORS


def _is_empty_handler(body: Sequence[Token], index: int) -> bool:
    begin = closing(body, index + 1) + 1 if index + 1 < len(body) else len(body)
    return begin + 1 < len(body) and body[begin].text == "{" and body[begin + 1].text == "}"


def _sizes(unit: Unit) -> dict[str, tuple[int, ...]]:
    """What names stand for, as numbers of threads: ``dim3 block(64, 32)``, ``constexpr int THREADS = 2048``."""
    found: dict[str, tuple[int, ...]] = {}
    for name, body in unit.tokens.macros.items():
        number = _number(body)
        if number is not None:
            found[name] = (number,)
    for piece in [piece for function in unit.functions for piece in statements(function.body)] + [*unit.outside]:
        words = texts(piece)
        for at, word in enumerate(words[:-2]):
            if word == "dim3" and words[at + 2] in ("(", "{"):
                found[words[at + 1]] = _axes(piece[at + 3 : closing(piece, at + 2)], found)
        if len(words) >= 3 and words[-2] == "=" and piece[-1].kind is Kind.NUMBER:
            number = _number(piece[-1:])
            if number is not None and ("const" in words or "constexpr" in words):
                found[words[-3]] = (number,)
    return found


def _axes(tokens: Sequence[Token], known: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The extents of a block; 1 for what is no number that is known."""
    axes = []
    for part in split(tokens):
        number = _number(part)
        named = known.get(part[0].text, ()) if len(part) == 1 else ()
        axes.append(number if number is not None else named[0] if named else 1)
    return tuple(axes[:3])


def _number(tokens: Sequence[Token]) -> int | None:
    if len(tokens) != 1 or tokens[0].kind is not Kind.NUMBER:
        return None
    digits = tokens[0].text.replace("'", "").rstrip("uUlL")
    return int(digits) if digits.isdigit() and len(digits) < 10 else None


def _blocks(function: Function, sizes: dict[str, tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """Launches with more threads than a block may have: the line, and how many."""
    body = function.body
    for index, token in enumerate(body):
        if token.text != "<<<":
            continue
        end = next((at for at in range(index, min(index + 200, len(body))) if body[at].text == ">>>"), index)
        parts = split(body[index + 1 : end])
        block = parts[1] if len(parts) > 1 else ()
        made = next(iter(calls_in(block)), None)
        if made is not None and made.last == "dim3":
            axes = _axes(made.inner, sizes)
        elif len(block) == 1:
            number = _number(block)
            axes = (number,) if number is not None else sizes.get(block[0].text, ())
        else:
            axes = ()
        threads = 1
        for axis in axes:
            threads *= axis
        too_long = any(axis > most for axis, most in zip(axes, _MOST_AXES, strict=False))
        if axes and (threads > _MOST_THREADS or too_long):
            yield token.line, threads
