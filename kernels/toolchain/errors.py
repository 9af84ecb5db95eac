"""What the tool chain says to people outside its reports."""

from __future__ import annotations

from kernels.errors import UserError


class BuildCancelled(UserError):
    """Whoever asked for the build has changed their mind; nothing was stored."""

    template = "the build of '{symbol}' was cancelled before it ended"


class DisassemblyToolMissing(UserError):
    """SASS needs a tool that some installations of CUDA leave out."""

    template = "{tool} is not in the CUDA tool kit ({place}) and not on PATH: install it (package cuda-cuobjdump)"


class CardCompilerMissing(UserError):
    """PTX and SASS of a card's kernels come from a CUDA tool kit, and there is none."""

    template = (
        "nvcc is not on this machine: no PTX and no SASS can be made; install nvcc or this package's extra 'cuda'"
    )


class DisassemblyCancelled(UserError):
    """Whoever asked for PTX or SASS has changed their mind, or other work came; nothing was stored."""

    template = "{tool} was stopped before it ended"


class BuiltByAnotherCompiler(UserError):
    """The object was made by a compiler or with flags that this machine does not have, and the object is gone or PTX
    of this compiler would not be the object's."""

    template = (
        "'{symbol}' was built by {built_by}; here is {here}, or its flags or libraries have changed, "
        "so that its {what} would be another's: build the program again"
    )


class DisassemblyDiskFull(UserError):
    """A listing does not fit on the disk of the build cache."""

    template = "no {what} of '{symbol}' was kept: the build cache's disk is full; free some space and try again"


class DisassemblyFailed(UserError):
    """A tool gave no PTX or SASS."""

    template = "no {what}: {tool} said: {reason}"
