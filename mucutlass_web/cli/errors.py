"""What can be wrong with a command line."""

from __future__ import annotations

from kernels.errors import UserError


class FileNotReadable(UserError):
    """A file named on the command line."""

    template = "{path}: {why}; the path of a readable UTF-8 file would be right"


class SymbolsUnbound(UserError):
    """A program with symbolic sizes and no problem to bind them."""

    template = "{path}: sizes such as {symbol} need a problem; --problem FILE.py would bind them"


class ProblemNeeded(UserError):
    """A hand-written source says nothing of its tensors."""

    template = "{path}: a source of this kind needs a problem for its tensors; --problem FILE.py would bind them"


class NothingToCheck(UserError):
    """C++ is checked by its compiler alone."""

    template = "a .{language} source is checked by its compiler alone; `mucutlass build` would be right"


class FileNotWritable(UserError):
    """The output file named on the command line."""

    template = "{path}: {why}; a path in a folder that may be written to would be right"


class NoCardCode(UserError):
    """PTX or SASS was asked for of a program without a kernel for a card."""

    template = (
        "a build for {target} of this program has no kernel for a card, so no PTX and no SASS; "
        "--arch sm_90a or --arch sm_80, and a stage that is no library call, would be right"
    )


class BatchLineWrong(UserError):
    """A line of a batch that is no request."""

    template = "{path}:{line}: {wrong}; {right} would be right"


class ResultsNotEmpty(UserError):
    """Results would follow those of another batch."""

    template = "{path} has results already; --resume, which skips the ids in it, or another file would be right"


class ResultsNotResults(UserError):
    """A file to resume from that holds something else."""

    template = "{path}:{line} is no result of a batch; a file that `evaluate --batch -o` wrote would be right"


class LineFailed(UserError):
    """Something in this project broke over one request of a batch."""

    template = (
        "{kind} while it was being prepared: {said}; this is no outcome of the candidate, and the rest goes on"
    )


class NothingToProfile(UserError):
    """A candidate that was refused or not built, where a profile was asked for."""

    template = "{file} did not come to be profiled ({why}); a candidate that builds would be right"


class ExportedAlready(UserError):
    """An export of Python."""

    template = "{path} is a ModelNew as it is; a .mu, .cu or .cpp source would be right"


class TokenNotSet(UserError):
    """The MCP server has nothing to show who asks."""

    template = "{variable} is not set; an API token, from the web's page API tokens, would be right"


class McpMissing(UserError):
    """The package that speaks the protocol is not installed."""

    template = "the package mcp is not installed; `pip install 'mucutlass-web[mcp]'` would be right"


class ApiUrlWrong(UserError):
    """An address that is none of a web server."""

    template = "{url!r} is no address of the web; one such as http://127.0.0.1:8000 would be right"


class ApiUnreachable(UserError):
    """The web does not answer."""

    template = "{url} does not answer ({why}); is the web running there?"


class ApiRefused(UserError):
    """The API answered that it will not; ``name`` is the error's own."""

    template = "{name}: {words}"
