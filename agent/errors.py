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
        '{path}: {problem}; a script is a JSON list with one {{"candidates": [{{"text": …}}]}} or {{"error": …}} an ask'
    )
