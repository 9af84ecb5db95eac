"""What can be wrong with a problem: with its file, and with what happened when a child process ran it."""

from __future__ import annotations

from kernels.errors import UserError


class ProblemFileError(UserError):
    """The file cannot be a problem, whatever happens when it runs."""


class ProblemNotReadable(ProblemFileError):
    """``path``, ``reason``."""

    template = "{path}: cannot be read: {reason}; a problem is a readable Python file"


class ProblemTooLarge(ProblemFileError):
    """``path``, ``bytes``, ``limit``."""

    template = "{path}: {bytes} bytes long; a problem file has at most {limit} bytes"


class ProblemNotUtf8(ProblemFileError):
    """``path``, ``offset`` (byte of the first bad sequence)."""

    template = "{path}: byte {offset} is not UTF-8; save the file as UTF-8 text"


class ProblemHasNulBytes(ProblemFileError):
    """``path``, ``offset``."""

    template = "{path}: byte {offset} is a NUL byte; a problem file is plain text"


class ProblemSyntaxError(ProblemFileError):
    """``path``, ``line``, ``column`` (1-based), ``reason``."""

    template = "{path}:{line}:{column}: not valid Python: {reason}"


class ProblemHasNoModel(ProblemFileError):
    """``path``."""

    template = "{path}: there is no class Model at the top level; write `class Model(nn.Module)` with a forward"


class ModelHasNoForward(ProblemFileError):
    """``path``, ``line`` of the class."""

    template = "{path}:{line}: class Model has no forward of its own or inherited; write `def forward(self, …)`"


class ProblemHasNoInputs(ProblemFileError):
    """``path``."""

    template = "{path}: there is no function get_inputs at the top level; it returns a list of forward's arguments"


class ProblemHasNoInitInputs(ProblemFileError):
    """``path``."""

    template = (
        "{path}: there is no function get_init_inputs at the top level; "
        "it returns the list of Model's constructor arguments (an empty list where there are none)"
    )


class ProblemSizesNotLiteral(ProblemFileError):
    """``path``, ``line``, ``reason``."""

    template = (
        "{path}:{line}: SIZES cannot be read: {reason}; "
        'write a literal such as SIZES = {{"cpu": {{"M": 512}}, "gpu": {{"M": 4096}}}}'
    )


class ProblemHasNoSuchSize(ProblemFileError):
    """``path``, ``size``, ``sizes``."""

    template = "{path}: there is no size {size!r}; the file has {sizes}"


class NoProblemsFound(UserError):
    """``path``."""

    template = (
        "{path}: no problem files here; expected *.py files with a class Model, "
        "a folder level1, level2, …, or a checkout with KernelBench/level1"
    )


class ProblemRunError(UserError):
    """Something went wrong when a child process ran the problem's own code."""


class ProblemTimedOut(ProblemRunError):
    """``path``, ``seconds``."""

    template = (
        "{path}: still running after {seconds:g} s; it was stopped. A problem must not take that long to build"
    )


class ProblemOutOfMemory(ProblemRunError):
    """``path``, ``limit`` (bytes)."""

    template = "{path}: took more memory than the {limit} bytes allowed for looking at a problem; it was stopped"


class ProblemCrashed(ProblemRunError):
    """``path``, ``how`` ("exit status 3", "signal 11 (SIGSEGV)")."""

    template = "{path}: its process ended without an answer: {how}; a problem must not end or crash its process"


class ProblemRaised(ProblemRunError):
    """``path``, ``line`` (of the problem file, 0 where none), ``during``, ``message`` (the last line)."""

    template = "{path}:{line}: {during} raised {message}"


class ProblemUnsupported(ProblemRunError):
    """``path``, ``reason``: it runs, but it is nothing a program can be written for."""

    template = "{path}: {reason}"


class InspectionCancelled(ProblemRunError):
    """``path``."""

    template = "{path}: looking at it was cancelled"
