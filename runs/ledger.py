"""Who did what: one row for each deed, with the way it came in by. Whoever changes something calls ``record``.

Where a deed comes from is known for the length of a request (``arriving``); outside of one it is the command line.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from runs.ledger_models import Action, Deed, Through

_WHAT, _WORDS, _NAME = 200, 300, 150


@dataclass(frozen=True, slots=True)
class Origin:
    """The way in and the shortened address of the request under way; ``whole`` is counted by and never written."""

    through: Through
    address: str
    whole: str


_origin: ContextVar[Origin | None] = ContextVar("origin", default=None)


@contextmanager
def arriving(through: Through, address: str) -> Iterator[None]:
    """Mark everything recorded inside as coming in this way."""
    token = _origin.set(Origin(through, shortened(address), address))
    try:
        yield
    finally:
        _origin.reset(token)


def caller() -> str:
    """The whole address of the request under way, behind whatever proxies; empty outside of one."""
    origin = _origin.get()
    return origin.whole if origin is not None else ""


def shortened(address: str) -> str:
    """The network of an address: 203.0.113.7 is 203.0.113.0/24, IPv6 its /48. This machine's own stays whole."""
    try:
        read = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    if read.is_loopback:
        return str(read)
    if isinstance(read, ipaddress.IPv6Address) and read.ipv4_mapped is not None:
        return shortened(str(read.ipv4_mapped))
    return str(ipaddress.ip_network(f"{read}/{24 if read.version == 4 else 48}", strict=False))


def record(
    user: Any, action: Action, target: Model | None = None, words: str = "", *, what: str = "", name: str = ""
) -> Deed:
    """Write one deed. ``what`` names the target where its own name does not do, ``name`` who tried to sign in."""
    origin = _origin.get()
    known = user if user is not None and user.is_authenticated else None
    kind, key = _place(target)
    return Deed.objects.create(
        user=known,
        name=(known.get_username() if known is not None else name)[:_NAME],
        action=action,
        kind=kind,
        key=key,
        what=(what or (str(target) if target is not None else ""))[:_WHAT],
        words=words.replace("\0", "")[:_WORDS],
        through=origin.through if origin is not None else Through.CLI,
        address=origin.address if origin is not None else "",
    )


def _place(target: Model | None) -> tuple[str, str]:
    """What kind of thing, and its number; an account is a person."""
    if target is None:
        return "", ""
    kind = str(target._meta.model_name)
    return ("person" if kind == "user" else kind)[:12], str(target.pk)
