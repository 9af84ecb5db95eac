"""What can go wrong with a candidate, a problem or the harness itself, in words for the person who reads the row."""

from __future__ import annotations

from kernels.errors import UserError


class ArtifactMissing(UserError):
    template = "the shared object of {symbol} cannot be loaded from {path}: {reason}"


class SymbolMissing(UserError):
    template = 'the shared object {path} has no function {symbol}; it must export it as extern "C"'


class LaunchFailed(UserError):
    template = "stage {stage}: {symbol} returned error code {code}; 0 means success"


class OutOfMemory(UserError):
    template = "{who} ran out of memory: {reason}"


class DeviceFault(UserError):
    template = "{who} broke the card's context: {reason}"


class TorchFunctionRefused(UserError):
    template = "stage {stage}: {function} is not callable here; {reason}"


class TorchCallFailed(UserError):
    template = "stage {stage}: {function} raised {reason}"


class ResultMismatch(UserError):
    template = "stage {stage}: {function} gave {seen}; the plan expects {expected}"


class PlanMismatch(UserError):
    template = "the plan does not fit the problem: {reason}"


class ProblemMismatch(UserError):
    template = "the problem gives {seen} where its inspection says {expected}; inspect it again"


class ProblemRaised(UserError):
    template = "{where} raised {reason}"


class UnknownTolerance(UserError):
    template = "there is no tolerance profile {name!r}; choose one of {names}"


class SubjectRaised(UserError):
    template = "{subject} raised {reason}"
