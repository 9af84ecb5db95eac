"""What can be wrong with a command line."""

from __future__ import annotations

from kernels.errors import UserError


class FileNotReadable(UserError):
    """A file named on the command line."""

    template = "{path}: {why}; the path of a readable UTF-8 file would be right"


class SymbolsUnbound(UserError):
    """A program with symbolic sizes and no problem to bind them."""

    template = "{path}: sizes such as {symbol} need a problem; --problem FILE.py would bind them"


class FileNotWritable(UserError):
    """The output file named on the command line."""

    template = "{path}: {why}; a path in a folder that may be written to would be right"


class NoCardCode(UserError):
    """PTX or SASS was asked for of a program without a kernel for a card."""

    template = (
        "a build for {target} of this program has no kernel for a card, so no PTX and no SASS; "
        "--arch sm_90a or --arch sm_80, and a stage that is no library call, would be right"
    )
