"""What can be wrong with launching and driving a run, in words for whoever launched it."""

from __future__ import annotations

from kernels.errors import UserError


class ProblemNotUsable(UserError):
    """The problem could not be inspected or traced."""

    template = "{problem} at size {size} cannot be run ({error}): {detail}"


class NothingToDisassemble(UserError):
    """PTX or SASS was asked for of a unit that was not built for a card."""

    template = "unit {unit} of {attempt} was not built for a card; build it for one, then ask again"


class NoDeviceForTarget(UserError):
    """No worker with a card for this target has ever reported."""

    template = "no card for {target} is known here; start a worker on a machine that has one"


class BuildGone(UserError):
    """An attempt's shared objects are neither in the cache nor can they be compiled again here."""

    template = (
        "its shared objects are no longer in the build cache and could not be compiled again on this worker; "
        "a worker with a compiler for the target, or a new attempt with the same program, would be right"
    )
