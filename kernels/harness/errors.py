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


class SourceNotPython(UserError):
    template = "the candidate is no Python: {reason}; Python that this interpreter reads would be right"


class ImportRaised(UserError):
    template = "running the candidate's file raised {reason}"


class ClassNotDefined(UserError):
    template = "the candidate's file ran and defines no {name}; class {name}(torch.nn.Module) would be right"


class ClassNotModule(UserError):
    template = "{name} is {seen}; a subclass of torch.nn.Module would be right"


class ConstructorRaised(UserError):
    template = "{name}(*get_init_inputs()) raised {reason}; the problem gives {count} arguments"


class ForwardRaised(UserError):
    template = "forward raised {reason}"


class NinjaMissing(UserError):
    template = (
        "the candidate compiles with torch.utils.cpp_extension, which needs ninja, and ninja is not on this machine; "
        "ninja installed beside torch (pip install ninja) would be right, or a .cpp or .cu source"
    )


class CompilerMissing(UserError):
    template = (
        "the candidate compiles with torch.utils.cpp_extension, and this machine has no {compiler}; "
        "the compiler installed and on PATH would be right"
    )


class OutputMismatch(UserError):
    """``check`` is the name of the check that it fails."""

    template = "{reason}"


class InitInputsNotPlain(UserError):
    template = (
        "get_init_inputs gives {seen} at {place}, which cannot be handed to a candidate as plain data; "
        "numbers, strings, None, element types, and lists, tuples and dicts of them would be right"
    )
