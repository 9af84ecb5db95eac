"""What is known while a program is read from top to bottom: names, sizes, and what depends on the inputs.

It collects errors; a stage that failed leaves its name poisoned, so that one mistake is told once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kernels.dsl.errors import DslError, Redefinition
from kernels.dsl.ir import Caution, Stage, Value
from kernels.dsl.syntax import Span
from kernels.dtypes import DType

RESERVED = frozenset({"acc", "auto", "True", "False", "None", "inf", "program", "return", "torch"}) | frozenset(
    DType
)


class Failed(Exception):
    """This stage cannot be read further; its error is already noted."""


@dataclass(frozen=True, slots=True)
class Poisoned:
    """A name whose stage or declaration failed."""


@dataclass(frozen=True, slots=True)
class Several:
    """A torch stage's name that stands for ``count`` results, called ``name.0`` and so on."""

    count: int


@dataclass(slots=True)
class Scope:
    """The state of one check."""

    errors: list[DslError] = field(default_factory=list)
    cautions: list[Caution] = field(default_factory=list)
    names: dict[str, Value | Poisoned | Several] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    symbols: dict[str, int] = field(default_factory=dict)
    assigned_on: dict[str, int] = field(default_factory=dict)
    knob_places: dict[tuple[str, str], Span] = field(default_factory=dict)
    dynamic: dict[str, str] = field(default_factory=dict)
    """By storage that depends on an input: the name of that input."""

    def note(self, error: DslError) -> None:
        """Keep an error and go on."""
        self.errors.append(error)

    def fail(self, error: DslError) -> Failed:
        """Keep an error; what comes back is to be raised, to leave this stage."""
        self.errors.append(error)
        return Failed()

    def caution(self, rule: str, message: str, span: Span) -> None:
        """Keep something legal that costs."""
        self.cautions.append(Caution(rule, message, span))

    def keep(self, value: Value) -> Value:
        """Remember a value for the program's list; the first of a name stays."""
        return self.values.setdefault(value.name, value)

    def place(self, stage: Stage, *knobs: str) -> Span:
        """Where the first of ``knobs`` that the stage sets is written; the whole stage where it sets none."""
        places = (self.knob_places.get((stage.name, knob)) for knob in knobs)
        return next((place for place in places if place is not None), stage.span)

    def declare(self, name: str, owner: str, span: Span, value: Value | Poisoned | Several) -> None:
        """Give a name its meaning; notes ``redefinition`` where it has one."""
        if name in RESERVED:
            self.note(Redefinition(span, found=name, owner="a word of the language"))
        elif name in self.names:
            self.note(Redefinition(span, found=name, owner=self.owners[name]))
        elif name in self.symbols:
            self.note(Redefinition(span, found=name, owner="a size of the program"))
        elif name.endswith(".T") and name[:-2] in self.names:
            self.note(Redefinition(span, found=name, owner=f"a view of {name[:-2]}"))
        else:
            self.names[name] = value
            self.owners[name] = owner
            if isinstance(value, Value):
                self.keep(value)

    def source_of(self, values: tuple[Value, ...]) -> str | None:
        """The input that any of ``values`` depends on, None where all follow from parameters."""
        return next((self.dynamic[value.storage] for value in values if value.storage in self.dynamic), None)
