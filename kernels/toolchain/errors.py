"""What the tool chain says to people outside its reports."""

from __future__ import annotations

from kernels.errors import UserError


class BuildCancelled(UserError):
    """Whoever asked for the build has changed their mind; nothing was stored."""

    template = "the build of '{symbol}' was cancelled before it ended"


class DisassemblyToolMissing(UserError):
    """SASS needs a tool that some installations of CUDA leave out."""

    template = "{tool} is not in the CUDA tool kit ({place}) and not on PATH: install it (package cuda-cuobjdump)"


class DisassemblyFailed(UserError):
    """A tool gave no PTX or SASS."""

    template = "no {what}: {tool} said: {reason}"
