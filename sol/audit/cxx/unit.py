"""One text of C++ or CUDA C++: its functions, its kernels and where they are launched, its calls, what outlives a call.

By shape alone: no types, no overloads, no templates are resolved. What cannot be told is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kernels.languages import SourceRefused
from sol.audit.cxx.spans import alive, closing, closings, names, nesting, split, statements, texts
from sol.audit.cxx.tokens import Comment, Kind, Token, tokenize
from sol.audit.record import Place

MOST_NESTED = 256
"""Brackets within each other; compilers stop there too."""

LAUNCH, WORKSPACE = "mucutlass_launch", "mucutlass_workspace_bytes"
_ATTRIBUTES = frozenset({"__attribute__", "__launch_bounds__", "alignas", "__align__", "__declspec", "decltype",
                         "noexcept", "requires", "__cluster_dims__"})  # fmt: skip
_CONTAINERS = frozenset({"namespace", "struct", "class", "union", "enum"})
_NO_CALL = frozenset(
    {"if", "for", "while", "switch", "return", "sizeof", "catch", "alignof", "decltype", "static_assert"}
)
_NO_STATE = frozenset({"const", "constexpr", "using", "typedef", "extern", "template", "friend", "__constant__",
                       "static_assert", "return"})  # fmt: skip
_BEGINS = frozenset({";", "{", "}", "=", "return"})
_CONDITION = 200
"""Words and marks before a ``?`` that are read."""
_QUALIFIED = 64


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a body. ``header`` are the tokens from its first attribute to its parameters' end."""

    name: str
    header: tuple[Token, ...]
    parameters: tuple[Token, ...]
    body: tuple[Token, ...]
    place: Place

    @property
    def kernel(self) -> bool:
        """Whether it is launched on a card."""
        return any(token.text == "__global__" for token in self.header)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names in order; empty for one without a name."""
        found = []
        for part in split(self.parameters):
            words = [t.text for t in _before(part, "=") if t.kind is Kind.NAME]
            found.append(words[-1] if len(words) > 1 else "")
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Call:
    """``name(arguments)``; ``name`` with its qualification, as ``std::thread``; ``member`` for ``x.name()``."""

    name: str
    inner: Sequence[Token]
    line: int
    member: bool = False

    @property
    def arguments(self) -> list[Sequence[Token]]:
        """What stands between its commas."""
        return split(self.inner)

    @property
    def last(self) -> str:
        """The name without its qualification."""
        return self.name.rsplit("::", 1)[-1]


class Unit:
    """A text, read once. ``roots`` are functions that others call by name, as the ones that Python asks for."""

    def __init__(self, text: str, line: int = 1, roots: frozenset[str] = frozenset(), *, raw: bool = False) -> None:
        self.tokens = tokenize(text, line)
        if nesting(self.tokens.code) > MOST_NESTED:
            right = f"at most {MOST_NESTED} brackets within each other"
            raise SourceRefused(wrong="is nested too deeply to be read", right=right)
        self.code = alive(self.tokens.code)
        self.roots = roots
        self.raw = raw

    @property
    def comments(self) -> tuple[Comment, ...]:
        """Its comments, with their lines."""
        return self.tokens.comments

    @cached_property
    def _parts(self) -> tuple[tuple[Function, ...], tuple[Sequence[Token], ...]]:
        reader = _Outline(self.code)
        return tuple(reader.functions), tuple(reader.outside)

    @property
    def outside(self) -> tuple[Sequence[Token], ...]:
        """Declarations outside of functions."""
        return self._parts[1]

    @property
    def functions(self) -> tuple[Function, ...]:
        """All functions with a body, methods too."""
        return self._parts[0]

    @property
    def kernels(self) -> tuple[Function, ...]:
        """Those that are launched on a card."""
        return tuple(function for function in self.functions if function.kernel)

    def function(self, name: str) -> Function | None:
        """The first function of that name."""
        return next((function for function in self.functions if function.name == name), None)

    @cached_property
    def reachable(self) -> tuple[Function, ...]:
        """Functions that the roots reach by name; all where no root is known."""
        roots = self.roots | ({LAUNCH, WORKSPACE} if self.raw else set())
        outside = {name for part in self._parts[1] for name in names(part)}
        first = [f for f in self.functions if f.name in roots or f.name.isupper() or f.name in outside]
        if not any(f.name in roots or f.name.isupper() for f in first):
            return self.functions
        known: dict[str, list[Function]] = {}
        for function in self.functions:
            known.setdefault(function.name, []).append(function)
        seen = {function.name for function in first}
        waiting = list(seen)
        while waiting:
            more = {name for function in known[waiting.pop()] for name in self.mentioned(function) & known.keys()}
            waiting += more - seen
            seen |= more
        return tuple(function for function in self.functions if function.name in seen)

    @cached_property
    def reached_calls(self) -> tuple[Call, ...]:
        """All calls of functions within reach."""
        return tuple(call for function in self.reachable for call in calls_in(function.body))

    def mentioned(self, function: Function) -> set[str]:
        """Names in a function's body, and in the macros that it uses."""
        found = names(function.body)
        for name in found & self.tokens.macros.keys():
            found = found | names(self.tokens.macros[name])
        return found

    @cached_property
    def launched(self) -> frozenset[str]:
        """Kernels that a function within reach launches or hands on by name."""
        known = {kernel.name for kernel in self.kernels}
        return frozenset(name for f in self.reachable for name in self.mentioned(f) & known if name != f.name)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All calls within functions, and those of macros' bodies."""
        macros = [call for body in self.tokens.macros.values() for call in calls_in(body)]
        outside = [call for part in self._parts[1] for call in calls_in(part)]
        return (*(call for function in self.functions for call in calls_in(function.body)), *macros, *outside)

    def called(self, *wanted: str) -> list[Call]:
        """Calls of one of the names, qualified or not."""
        return [call for call in self.calls if call.last in wanted or call.name in wanted]

    @cached_property
    def persistent(self) -> dict[str, int]:
        """Variables that outlive a call, each with its line: static ones, and those outside of functions."""
        found = _static_structures(self.code)
        for part in self._parts[1]:
            found |= _declared(part)
        for function in self.functions:
            for piece in statements(function.body):
                words = texts(piece)
                if "static" in words[:3] or "thread_local" in words[:3]:
                    found |= _declared(piece[words.index("static") + 1 if "static" in words else 0 :])
        return found

    @property
    def strings(self) -> list[Token]:
        """All string literals."""
        return [token for token in self.code if token.kind is Kind.STRING]

    @cached_property
    def words(self) -> dict[str, int]:
        """Every name in code and macros with the first line that it stands in."""
        found: dict[str, int] = {}
        for token in (*self.code, *(t for body in self.tokens.macros.values() for t in body)):
            if token.kind is Kind.NAME:
                found.setdefault(token.text, token.line)
        return found


def python_run(unit: Unit) -> Iterator[tuple[str, int]]:
    """Texts that C++ gives to Python to run, each with its line; escapes of line ends and quotes are resolved."""
    for call in unit.called("PyRun_SimpleString", "PyRun_String", "PyRun_SimpleStringFlags", "exec", "eval"):
        for token in call.inner:
            if token.kind is Kind.STRING:
                yield token.text.replace("\\n", "\n").replace('\\"', '"'), token.line


def calls_in(tokens: Sequence[Token]) -> Iterator[Call]:
    """Every ``name(…)``, ``a::b(…)``, ``name<…>(…)`` of a body; declarations with arguments are among them."""
    ends = closings(tokens)
    for index, token in enumerate(tokens):
        if token.text != "(" or token.kind is not Kind.PUNCTUATION or index == 0:
            continue
        end = _before_template(tokens, index - 1)
        if end < 0 or tokens[end].kind is not Kind.NAME or tokens[end].text in _NO_CALL:
            continue
        begin = end
        while (
            begin >= max(2, end - _QUALIFIED)
            and tokens[begin - 1].text == "::"
            and tokens[begin - 2].kind is Kind.NAME
        ):
            begin -= 2
        member = begin > 0 and tokens[begin - 1].text in (".", "->")
        inner = tokens[index + 1 : ends[index]]
        name = "".join(t.text for t in tokens[begin : end + 1])
        yield Call(name, inner, tokens[end].line, member)


def conditions_in(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """What stands in the parentheses of ``if`` and ``while``, and before a ``?``."""
    for index, token in enumerate(tokens):
        if token.text in ("if", "while") and index + 1 < len(tokens):
            begin = index + 2 if tokens[index + 1].text == "constexpr" else index + 1
            if begin < len(tokens) and tokens[begin].text == "(":
                yield tokens[begin + 1 : closing(tokens, begin)]
        elif token.text == "?":
            begin = index
            while begin > max(0, index - _CONDITION) and tokens[begin - 1].text not in _BEGINS:
                begin -= 1
            yield tokens[begin:index]


def _before_template(tokens: Sequence[Token], index: int) -> int:
    """The index of the name before ``<…>`` that ends at ``index``; ``index`` where no template's list ends."""
    if tokens[index].text not in (">", ">>"):
        return index
    depth = 0
    for place in range(index, max(index - 60, -1), -1):
        text = tokens[place].text
        depth += {">": 1, ">>": 2, "<": -1}.get(text, 0)
        if text in (";", "{", "}"):
            return -1
        if depth == 0:
            return place - 1
    return -1


def _before(tokens: Sequence[Token], mark: str) -> Sequence[Token]:
    found = texts(tokens)
    return tokens[: found.index(mark)] if mark in found else tokens


def _static_structures(code: Sequence[Token]) -> dict[str, int]:
    """``static struct { … } last;``: variables of a type that is made where they are."""
    found: dict[str, int] = {}
    for index, token in enumerate(code[:-3]):
        if token.text != "static" or code[index + 1].text not in ("struct", "class", "union"):
            continue
        begin = next((at for at in (index + 2, index + 3) if at < len(code) and code[at].text == "{"), None)
        end = closing(code, begin) + 1 if begin is not None else len(code)
        if end < len(code) and code[end].kind is Kind.NAME:
            found[code[end].text] = code[end].line
    return found


def _changing(piece: Sequence[Token]) -> Sequence[Token]:
    """Without the const of what a pointer points to: ``const float* p`` can be given another address."""
    words = texts(_before(piece, "="))
    stars = [index for index, word in enumerate(words) if word == "*"]
    if not stars or "const" in words[stars[-1] :]:
        return piece
    return [token for token in piece if token.text != "const"]


def _declared(piece: Sequence[Token]) -> dict[str, int]:
    """Names that a declaration makes, where what it makes can change."""
    if not piece or names(_changing(piece)) & _NO_STATE or piece[0].text in _CONTAINERS or piece[0].text == "using":
        return {}
    found: dict[str, int] = {}
    for part in split(piece):
        front = list(part)
        for mark in ("=", "[", "{", "("):
            front = list(_before(front, mark))
        words = [token for token in front if token.kind is Kind.NAME]
        if words and (len(words) > 1 or found):
            found[words[-1].text] = words[-1].line
    return found


class _Outline:
    """Walks the outermost level, into namespaces and classes, and over bodies."""

    def __init__(self, code: Sequence[Token]) -> None:
        self.functions: list[Function] = []
        self.outside: list[Sequence[Token]] = []
        self._walk(code)

    def _walk(self, code: Sequence[Token]) -> None:
        index = begin = behind = 0
        classes: list[bool] = []
        while index < len(code):
            text = code[index].text if code[index].kind is Kind.PUNCTUATION else ""
            if text == "{":
                # Braces that were no body's are read once: what follows them is a header of its own.
                header = code[max(begin, behind) : index]
                if self._opens_container(header):
                    classes.append("namespace" not in texts(header) and "extern" not in texts(header))
                else:
                    end = closing(code, index)
                    if not self._function(header, code[index + 1 : end], code[end].line):
                        index = behind = end + 1
                        continue
                    index = end
                begin = index + 1
            elif text in (";", "}"):
                # A member lives as long as its object; only a static one outlives all of them.
                if index > begin and (not any(classes) or code[begin].text == "static"):
                    self.outside.append(code[begin:index])
                classes = classes[:-1] if text == "}" else classes
                begin = index + 1
            elif text in ("(", "["):
                index = closing(code, index)
            index += 1

    @staticmethod
    def _opens_container(header: Sequence[Token]) -> bool:
        words = texts(header)
        if "(" in words:
            return False
        if "=" in words:
            return False
        return bool(_CONTAINERS & set(words)) or (
            words[:1] == ["extern"] and len(header) == 2 and header[1].kind is Kind.STRING
        )

    def _function(self, header: Sequence[Token], body: Sequence[Token], last: int) -> bool:
        """Take the function, where the header is one's; an initialiser's braces are none."""
        at = 0
        while at < len(header):
            token = header[at]
            if token.text == "=" and token.kind is Kind.PUNCTUATION:
                return False
            if token.text != "(" or token.kind is not Kind.PUNCTUATION:
                at += 1
                continue
            end = closing(header, at)
            name = header[at - 1] if at else token
            if name.kind is Kind.NAME and name.text not in _ATTRIBUTES:
                place = Place(header[0].line, last)
                self.functions.append(
                    Function(name.text, tuple(header[:end]), tuple(header[at + 1 : end]), tuple(body), place)
                )
                return True
            at = end + 1
        return False
