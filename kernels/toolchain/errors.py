"""What the tool chain says to people outside its reports."""

from __future__ import annotations

from kernels.errors import UserError


class BuildCancelled(UserError):
    """Whoever asked for the build has changed their mind; nothing was stored."""

    template = "the build of '{symbol}' was cancelled before it ended"
