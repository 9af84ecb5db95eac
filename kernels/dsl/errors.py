"""Every error that a program's text can earn: one class a rule, each with what is wrong and what would be right.

No error is raised alone past this package: ``ProgramErrors`` carries all that one program earned.
"""

from __future__ import annotations

from typing import Any, ClassVar

from kernels.dsl.syntax import Span
from kernels.errors import UserError

_SHOWN = 60
"""Characters of a long line that are shown on each side of an error."""


class DslError(UserError):
    """One broken rule at one place.

    ``wrong`` and ``right`` are the class's templates; ``message`` and ``mend`` are what they became, ``found`` the
    offending piece of text or value. ``str(error)`` is ``LINE:COL: rule-name: what is wrong; what would be right``.
    """

    template: ClassVar[str] = "{line}:{column}: {rule}: {message}; {mend}"
    wrong: ClassVar[str] = "{what}"
    right: ClassVar[str] = "{mend}"

    def __init__(self, span: Span, **fields: Any) -> None:
        self.span = span
        self.given = fields
        self.rule = self.slug()
        self.found = str(fields.get("found", ""))
        self.message = self.wrong.format(**fields)
        self.mend = self.right.format(**fields)
        super().__init__(
            line=span.line,
            column=span.column,
            rule=self.rule,
            message=self.message,
            mend=self.mend,
            found=self.found,
        )

    @property
    def line(self) -> int:
        """1-based."""
        return self.span.line

    @property
    def column(self) -> int:
        """1-based."""
        return self.span.column

    def show(self, source: str) -> str:
        """The one-line form with the offending line (cut where it is long) under it, and carets under the place."""
        lines = source.split("\n")
        if not 1 <= self.line <= len(lines):
            return str(self)
        text = lines[self.line - 1].rstrip("\r")
        until = self.span.end_column if self.span.end_line == self.line else len(text) + 1
        width = max(1, min(until, len(text) + 1, self.column + _SHOWN) - self.column)
        start = max(0, self.column - 1 - _SHOWN)
        shown = text[start : self.column - 1 + width + _SHOWN]
        lead = "".join("\t" if c == "\t" else " " for c in text[start : self.column - 1])
        number = str(self.line)
        return f"{self}\n{number} | {shown}\n{' ' * len(number)} | {lead}{'^' * width}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.span, self.given)


def _rebuild(kind: type[DslError], span: Span, given: dict[str, Any]) -> DslError:
    return kind(span, **given)


class ProgramErrors(UserError):
    """All errors of a program, in the order of the text; ``str`` has one line an error."""

    template: ClassVar[str] = "{lines}"

    def __init__(self, errors: tuple[DslError, ...]) -> None:
        self.errors = tuple(sorted(errors, key=lambda e: (e.line, e.column)))
        super().__init__(lines="\n".join(str(error) for error in self.errors))

    def show(self, source: str) -> str:
        """Every error with its line of ``source`` and carets."""
        return "\n".join(error.show(source) for error in self.errors)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.errors,)


# Text and grammar.


class Syntax(DslError):
    """The text does not follow the grammar."""

    wrong = "{what}"
    right = "would be right: {legal}"


class SourceSize(DslError):
    """The text is larger than a program may be."""

    wrong = "the program has {found} characters"
    right = "at most {limit} are read, which is some 300 stages: write fewer, or shorter names and comments"


class NestingDepth(DslError):
    """Brackets or operators nest too deep."""

    wrong = "brackets or operators nest deeper than {limit} levels"
    right = "give a part its own stage and use its name"


class NumberRange(DslError):
    """A number that no 64-bit type holds."""

    wrong = "{found} is outside the range of 64-bit numbers"
    right = "write a number between -9223372036854775808 and 9223372036854775807, or a float up to 1.7e308"


class StageForm(DslError):
    """The right side of ``=`` is no stage."""

    wrong = "{what}"
    right = "{mend}"


# Names.


class UnknownName(DslError):
    """A name that nothing declares."""

    wrong = "nothing is called {found!r}"
    right = "{legal}"


class UnknownStage(DslError):
    """A stage's operation that does not exist."""

    wrong = "there is no stage {found!r}"
    right = "{legal}"


class UnknownFunction(DslError):
    """A function or a link that does not exist."""

    wrong = "there is no {kind} {found!r}"
    right = "{legal}"


class UseBeforeAssign(DslError):
    """A stage's name is used before (or in) the stage that makes it."""

    wrong = "{found!r} is used before it is assigned on line {assigned}"
    right = "a program runs from top to bottom: move the stage that makes it above this one"


class Redefinition(DslError):
    """A name is given twice."""

    wrong = "{found!r} is already {owner}"
    right = "every name is given once: choose another"


class ArgumentError(DslError):
    """A stage, function, view or link got arguments it does not take."""

    wrong = "{what}"
    right = "{mend}"


class UnknownType(DslError):
    """An element type that does not exist."""

    wrong = "there is no element type {found!r}"
    right = "element types are {legal}"


# Sizes.


class Signature(DslError):
    """The program's parameters or results do not fit the problem's."""

    wrong = "{what}"
    right = "{mend}"


class Symbol(DslError):
    """A symbolic size stands for two numbers, or for none."""

    wrong = "{what}"
    right = "{mend}"


class ShapeMismatch(DslError):
    """Extents that must agree do not."""

    wrong = "{what}"
    right = "{mend}"


class View(DslError):
    """A view that the tensor does not have."""

    wrong = "{what}"
    right = "{mend}"


class OutputType(DslError):
    """An output has another element type than the problem's."""

    wrong = "output {found} is {dtype}, but the problem's is {legal}"
    right = "cast it: out = cast({name}, {legal})"


class TorchResult(DslError):
    """A torch stage's result type is missing or wrong."""

    wrong = "{what}"
    right = "{mend}"


class TorchFunction(DslError):
    """A torch function that a program may not call."""

    wrong = "{found} is not for programs: {why}"
    right = (
        "call a pure function of tensors under torch, torch.nn.functional, torch.linalg, torch.special or torch.fft"
    )


# Knobs.


class UnknownKnob(DslError):
    """A knob that the stage does not have on any target."""

    wrong = "{op} has no knob {found!r}"
    right = "its knobs are {legal}"


class RepeatedKnob(DslError):
    """The same knob twice on one stage."""

    wrong = "the knob {found!r} is set twice"
    right = "keep one of them"


class KnobValue(DslError):
    """A knob's value outside its legal values."""

    wrong = "{knob}({found}) is not legal"
    right = "{knob} takes {legal}"


# Rules of the targets.


class Target(DslError):
    """An operation and element type that the target cannot do."""

    wrong = "{op} of {found} is not there on {target}"
    right = "{mend}"


class Tile(DslError):
    """A tile that the target's instructions cannot work on."""

    wrong = "tile({found}): {why}"
    right = "{mend}"


class Cluster(DslError):
    """A cluster shape that the card cannot launch, or whose blocks cannot share the tile's loads."""

    wrong = "cluster({found}) {why}"
    right = "{mend}"


class SharedMemory(DslError):
    """Stages that do not fit into shared memory."""

    wrong = "{found} stages need {need} bytes of shared memory, and a block has {have}"
    right = "{mend}"


class Warps(DslError):
    """Warps that cannot share the tile, or that the tile cannot keep busy."""

    wrong = "warps({found}) {why}"
    right = "{mend}"


class Stages(DslError):
    """A pipeline depth that there is no mainloop for with these operands."""

    wrong = "stages({found}): {why}"
    right = "{mend}"


class Schedule(DslError):
    """A schedule that does not go with the tile."""

    wrong = "schedule({found}) splits the tile between two groups of 64 rows, and tile has {rows} rows"
    right = "give tile at least 128 rows, or write schedule(pingpong)"


class Registers(DslError):
    """An accumulator tile larger than the register file."""

    wrong = "{what} need {need} registers, and there are {have}"
    right = "{mend}"


class Grid(DslError):
    """A launch grid past the card's limits."""

    wrong = "{what} gives a grid of {found} blocks in {axis}, and a card takes {limit}"
    right = "{mend}"


class Alignment(DslError):
    """A contiguous extent that TMA cannot address."""

    wrong = "{what}"
    right = "{mend}"


class MajorNess(DslError):
    """An operand that is not K-major where it must be, or a knob that the mainloop for such operands does not have."""

    wrong = "{what}"
    right = "{mend}"


class TensorSize(DslError):
    """A tensor without elements, or with more than any memory holds."""

    wrong = "{name} has shape {found}: {elements} elements"
    right = "a stage's tensors have 1 to 2^40 elements"


class Layout(DslError):
    """An operand without a contiguous side."""

    wrong = "{what}"
    right = "{mend}"


class Epilogue(DslError):
    """A chain that the stage or the target's visitor tree does not express."""

    wrong = "{what}"
    right = "{mend}"


class Math(DslError):
    """A way to multiply that the target or the operands do not have."""

    wrong = "math({found}): {why}"
    right = "{mend}"


class Precision(DslError):
    """A precision lower than the run's policy allows."""

    wrong = "{what} lowers the precision to {found}, and the policy is {policy}"
    right = "{mend}"


class Once(DslError):
    """``@once`` on work that depends on an input."""

    wrong = "{stage} is marked @once, but it depends on the input {found!r}"
    right = "@once is for work on parameters alone: take the mark away"
