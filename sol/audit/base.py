"""The base of all detectors, and what they read: a subject's text in the forms that they need, each made once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, Literal

from kernels.dsl import Program, ProgramErrors, parse
from kernels.languages import Language
from sol.audit.cxx.unit import Unit
from sol.audit.python.code import PythonCode
from sol.audit.record import Evidence, Flag, Place, Severity
from sol.audit.subject import Subject
from sol.audit.tricks import Trick

Look = Literal["source", "evaluation", "profile", "bounds", "lineage"]


class Reading:
    """A subject with its text read."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    @cached_property
    def python(self) -> PythonCode | None:
        """The candidate as Python; None in another language."""
        return PythonCode(self.subject.text) if self.subject.language is Language.PY else None

    @cached_property
    def cxx(self) -> tuple[Unit, ...]:
        """Every text of C++: the candidate itself, or what its strings hold."""
        if self.subject.language.is_raw:
            return (Unit(self.subject.text, raw=True),)
        return self.python.cxx if self.python is not None else ()

    @cached_property
    def program(self) -> Program | None:
        """The candidate as a μCUTLASS program; None in another language, and where it is none."""
        if self.subject.language is not Language.MU:
            return None
        try:
            return parse(self.subject.text)
        except ProgramErrors:
            return None

    @cached_property
    def problem(self) -> PythonCode | None:
        """The problem's text; None where there is none that can be read."""
        return PythonCode(self.subject.problem_text) if self.subject.problem_text is not None else None


class Detector(ABC):
    """Looks at one side of a subject and says what it saw. It never settles anything."""

    name: ClassVar[str]
    looks_at: ClassVar[Look]
    tricks: ClassVar[tuple[Trick, ...]]

    @abstractmethod
    def look(self, reading: Reading) -> Iterator[Flag]:
        """The flags; none where what it looks at is not there."""

    def flag(
        self,
        trick: Trick,
        severity: Severity,
        confidence: float,
        words: str,
        *places: Place,
        **figures: float,
    ) -> Flag:
        """A flag of this detector."""
        return Flag(self.name, trick, severity, confidence, Evidence(words, places, dict(figures)))


class SourceDetector(Detector):
    """Looks at the text. Each language has a method of its own; by default it has nothing to say."""

    looks_at = "source"

    def look(self, reading: Reading) -> Iterator[Flag]:
        """What the methods of the languages say."""
        if reading.python is not None:
            yield from self.python(reading.python, reading)
        for unit in reading.cxx:
            yield from self.cxx(unit, reading)
        if reading.program is not None:
            yield from self.program(reading.program, reading)

    def python(self, code: PythonCode, reading: Reading) -> Iterator[Flag]:
        """Of a Python candidate."""
        yield from ()

    def cxx(self, unit: Unit, reading: Reading) -> Iterator[Flag]:
        """Of one text of C++, a candidate's own or inside Python."""
        yield from ()

    def program(self, program: Program, reading: Reading) -> Iterator[Flag]:
        """Of a μCUTLASS program."""
        yield from ()


def line(number: int) -> Place:
    """One line."""
    return Place(max(number, 1), max(number, 1))
