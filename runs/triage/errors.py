"""What a form of a case can get wrong."""

from __future__ import annotations

from kernels.errors import UserError

MOST_WORDS = 4_000


class WordsUnfit(UserError):
    """A comment or a reason that is empty or too long."""

    template = "{what} {wrong}; between 1 and {most} letters would be right"


class DecidedMeanwhile(UserError):
    """A verdict on a case that is another than on the page that it was given on."""

    template = "{who} {did} meanwhile, so nothing was changed; it is shown as it is now"


class NoReviewer(UserError):
    """A case that is given to somebody who may not settle it."""

    template = "{name} is nobody who settles flags; {right} would be right"
