"""Every error of the agent that a person is meant to read."""

from __future__ import annotations

from typing import ClassVar

from kernels.errors import UserError


class UnknownController(UserError):
    """A run names a controller that is not there."""

    template: ClassVar[str] = "there is no controller {name!r}; there are {known}"


class UnknownProposer(UserError):
    """A run names a proposer that is not there."""

    template: ClassVar[str] = "there is no proposer {name!r}; there are {known}"


class HistoryNotStarted(UserError):
    """A history whose first event is something else."""

    template: ClassVar[str] = "the history begins with {found}; its first event must be 'started'"


class StepStillOpen(UserError):
    """The next step was asked for while one is under way."""

    template: ClassVar[str] = "{open_step} has no result yet; ask for the next step once it is in the history"


class ScriptUnreadable(UserError):
    """A script of the ``scripted`` proposer that says nothing usable."""

    template: ClassVar[str] = (
        '{path}: {problem}; a script is a JSON list with one {{"candidates": [{{"text": …}}]}}, '
        '{{"answer": …}} or {{"error": …}} an ask'
    )


class AnswerUnfit(UserError):
    """An answer whose text was read and which is no answer to its phase: the root of those below. Asking again with
    the error in words may help."""


class WrongSchema(AnswerUnfit):
    """A phase's answer of another form than its schema."""

    template: ClassVar[str] = "{where} is {found}; {right} would be right"


class NoProgram(AnswerUnfit):
    """An answer whose program is empty, or no text that a file can hold."""

    template: ClassVar[str] = "{where}: the program {wrong}; {right} would be right"


class ProgramTooLong(AnswerUnfit):
    """A program of more bytes than is looked at."""

    template: ClassVar[str] = "{where}: the program has {found:,} bytes; at most {limit:,} are read"


class TooManyStages(AnswerUnfit):
    """A program of more statements than the language's checker is given."""

    template: ClassVar[str] = "{where}: the program has {found:,} stages; at most {limit:,} are checked"


class PhaseNotAnswered(UserError):
    """A proposer that writes programs was asked for something else."""

    template: ClassVar[str] = "{proposer} writes programs and answers no {phase} phase; {right}"
