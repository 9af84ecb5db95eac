"""What can be wrong with changing people, teams and invitations, in words for the admin or the invited."""

from __future__ import annotations

from kernels.errors import UserError


class LastAdmin(UserError):
    """Nobody would be left who can manage the place."""

    template = "{name} is the only admin; make somebody else one first"


class UnknownRole(UserError):
    """A role that there is not."""

    template = "{role!r} is no role; it is one of {right}"


class TeamNameUnfit(UserError):
    """A team's name that is empty or long."""

    template = "the name has {length} characters; 1 to {most} would be right"


class TeamNameTaken(UserError):
    """Two teams of one name."""

    template = "there is a team {name!r} already; another name would be right"


class InvitationUnfit(UserError):
    """An invitation with limits that cannot be."""

    template = "{what} is {given!r}; {right} would be right"


class InvitationUnknown(UserError):
    """A link whose secret belongs to no invitation."""

    template = "there is no such invitation: the link was copied in part, or is of another installation"


class InvitationRevoked(UserError):
    """A link that an admin took back."""

    template = "this invitation was revoked; whoever sent it can make another"


class InvitationUsed(UserError):
    """A link that let in as many as it may."""

    template = "this invitation was used {times}; whoever sent it can make another"


class InvitationExpired(UserError):
    """A link past its time."""

    template = "this invitation expired on {when}; whoever sent it can make another"


class MemberUnknown(UserError):
    """A name that no account has."""

    template = "there is no account {name!r}; a name of the page People would be right"
