"""What can be wrong with asking for a comparison, in words for whoever asked."""

from __future__ import annotations

from kernels.errors import UserError


class ComparisonRefused(UserError):
    """The root of them all; ``status`` is the answer's."""

    status = 400


class TooFewChosen(ComparisonRefused):
    """One thing cannot be compared with itself."""

    template = "only one {one} is chosen; {least} to {most} of them can be compared"


class TooManyChosen(ComparisonRefused):
    """More than fit beside each other."""

    template = "{count} {many} are chosen; at most {most} fit beside each other, so take {over} away"


class NotANumber(ComparisonRefused):
    """An address that names something by what is no number."""

    template = "{text!r} names no {one}; the number under which it is stored would be right"


class BothKindsChosen(ComparisonRefused):
    """Candidates and runs in one address."""

    template = "candidates and runs are chosen at once; either candidates or runs can be compared"


class BaselineNotChosen(ComparisonRefused):
    """A baseline, or a side of the difference, that is not among what is compared."""

    template = "the {role} {text!r} is not among the chosen {many}; one of {known} would be right"


class ChosenNotThere(ComparisonRefused):
    """Numbers under which nothing is stored (any more)."""

    template = "there is no {one} with the number {numbers}; the others are still chosen"
    status = 404
