"""What can go wrong with bounds, for people."""

from __future__ import annotations

from kernels.errors import UserError


class HostPeaksUnavailable(UserError):
    """This machine's peaks could not be measured."""

    template = "this machine's peaks were not measured: {reason}; {remedy}"


class UnknownCard(UserError):
    """No card of that name in the table."""

    template = "there is no card called {name!r}; known are {known}"


class CardPeaksUnavailable(UserError):
    """A card's peaks could not be measured."""

    template = "no card's peaks were measured: {reason}; {remedy} would be right"
