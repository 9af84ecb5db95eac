"""How often a caller may ask, counted in the cache in windows of a minute. A cache that forgets lets more through."""

from __future__ import annotations

import time

from django.conf import settings
from django.core.cache import cache

from runs import ledger
from runs.errors import TooManyFailures, TooManyRequests

FAILURES = 20
"""So many wrong tokens a minute from one address, and the next ones are told to wait. A good one still passes."""

_WINDOW_S = 60


def _count(what: str) -> tuple[int, int]:
    """How often this was counted in the running minute, this time included, and how many seconds are left of it."""
    now = int(time.time())
    key = f"api:{what}:{now // _WINDOW_S}"
    cache.add(key, 0, _WINDOW_S * 2)
    try:
        count = cache.incr(key)
    except ValueError:  # it went between the two calls
        count = 1
    return count, _WINDOW_S - now % _WINDOW_S


def spend(caller: str, *, write: bool) -> None:
    """Count one request of a caller. Raises TooManyRequests."""
    most = settings.API_POSTS_A_MINUTE if write else settings.API_READS_A_MINUTE
    count, seconds = _count(f"{'post' if write else 'read'}:{caller}")
    if count > most:
        raise TooManyRequests(most=most, what="posts" if write else "reads", seconds=seconds)


def note_failure() -> None:
    """Count one wrong token. Raises TooManyFailures. Good tokens from the same address are not held up by it."""
    count, seconds = _count(f"failed:{ledger.caller()}")
    if count > FAILURES:
        raise TooManyFailures(seconds=seconds)
