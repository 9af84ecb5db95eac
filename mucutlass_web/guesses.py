"""How often a password may be guessed, counted in the cache by address and name.

A cache that forgets lets more through. A try is counted before its password is looked at, so that many at the same time
are no way around it.
"""

from __future__ import annotations

import hashlib
import math
import time
import unicodedata

from django.core.cache import cache
from django.http import HttpRequest

from mucutlass_web.arrivals import address_of
from mucutlass_web.errors import TooManyGuesses

FAILURES = 10
"""So many wrong passwords for one name from one address in a window, and the right one is not taken either."""

WINDOW_S = 900


def _key(request: HttpRequest, name: str, now: int) -> str:
    """The name as the sign-in form reads it, whatever its case."""
    read = unicodedata.normalize("NFKC", name).strip().casefold()
    digest = hashlib.sha256(f"{address_of(request)} {read}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"guess:{digest}:{now // WINDOW_S}"


def spend(request: HttpRequest, name: str) -> None:
    """Count one try. Raises TooManyGuesses."""
    now = int(time.time())
    key = _key(request, name, now)
    cache.add(key, 0, WINDOW_S * 2)
    try:
        count = cache.incr(key)
    except ValueError:  # it went between the two calls
        count = 1
    if count > FAILURES:
        seconds = WINDOW_S - now % WINDOW_S
        minutes = math.ceil(seconds / 60)
        wait = f"{minutes} minutes" if minutes > 1 else "a minute"
        raise TooManyGuesses(name=name[:150], wait=wait, seconds=seconds)


def forget(request: HttpRequest, name: str) -> None:
    """The password was right: what was wrong before does not count any more."""
    cache.delete(_key(request, name, int(time.time())))
