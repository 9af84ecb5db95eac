"""What of the inputs an expression looks at, names followed into what they were given: an address, an identity, values.

Each name's sights are those of its expressions and of the names in them; they are spread once for a whole function, so
that a long function costs as much for each line as a short one.
"""

from __future__ import annotations

import ast
from enum import Flag as BitFlag
from enum import auto

from sol.audit.python.flow import Flow, called, key
from sol.audit.python.walk import walk

_POINTERS = frozenset({"data_ptr", "storage", "untyped_storage", "_cdata", "const_data_ptr"})
_PRINTS = frozenset({"shape", "size", "sum", "item", "tolist", "mean", "norm", "numel", "hash", "hex", "tobytes",
                     "digest", "hexdigest", "equal", "allclose", "dtype", "stride", "_version", "numpy"})  # fmt: skip
_GIVEN = 20
"""Of a name that is given more values than this the later ones are left aside."""


class Sight(BitFlag):
    """One thing that an expression may look at."""

    NOTHING = 0
    INPUT = auto()
    POINTER = auto()
    IDENTITY = auto()
    PRINT = auto()
    ELEMENT = auto()
    WHOLE = auto()


class Sights:
    """Of one function. Names in ``kept`` are not followed: they are what is looked for."""

    def __init__(self, flow: Flow, inputs: set[str], kept: set[str]) -> None:
        self._flow, self._inputs, self._kept = flow, inputs, kept
        self._of = self._spread()

    def of(self, node: ast.AST) -> Sight:
        """Everything that an expression looks at."""
        own, names = self._own(node)
        for name in names:
            own |= self._of.get(name, Sight.NOTHING)
        return own

    def _own(self, node: ast.AST) -> tuple[Sight, set[str]]:
        """What stands in the expression itself, and the names in it that are followed."""
        found, names = Sight.NOTHING, set()
        for part in walk(node):
            name = key(part)
            if name is not None and name not in self._kept:
                names.add(name)
                if self._flow.rests(name, self._inputs):
                    found |= Sight.INPUT
            if isinstance(part, ast.Attribute):
                found |= _of_word(part.attr)
            elif isinstance(part, ast.Call):
                found |= _of_word(called(part))
            elif isinstance(part, ast.Subscript):
                found |= Sight.ELEMENT
            elif isinstance(part, ast.Name) and part.id in self._inputs:
                found |= Sight.WHOLE
        return found, names

    def _spread(self) -> dict[str, Sight]:
        sights: dict[str, Sight] = {}
        users: dict[str, set[str]] = {}
        for name, values in self._flow.values.items():
            for value in values[:_GIVEN] if name not in self._kept else ():
                own, names = self._own(value)
                sights[name] = sights.get(name, Sight.NOTHING) | own
                for used in names:
                    users.setdefault(used, set()).add(name)
        waiting = list(sights)
        while waiting:
            used = waiting.pop()
            for name in users.get(used, ()):
                more = sights.get(name, Sight.NOTHING) | sights[used]
                if more != sights.get(name):
                    sights[name] = more
                    waiting.append(name)
        return sights


def _of_word(word: str) -> Sight:
    if word in _POINTERS:
        return Sight.POINTER
    if word == "id":
        return Sight.IDENTITY
    return Sight.PRINT if word in _PRINTS else Sight.NOTHING
