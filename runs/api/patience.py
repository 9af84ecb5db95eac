"""Waiting for news inside a request: for some seconds, and for a few requests at a time.

The web has few threads. Where as many wait as may, a request is answered at once with how things stand, and the
caller asks again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LONGEST_S = 25.0
AT_ONCE = 4
_EVERY_S = 0.25

_places = threading.BoundedSemaphore(AT_ONCE)


def patiently(look: Callable[[], T], ended: Callable[[T], bool], seconds: float) -> T:
    """What ``look`` gives as soon as it has ``ended``, or after ``seconds`` as it then stands."""
    found = look()
    if seconds <= 0 or ended(found) or not _places.acquire(blocking=False):
        return found
    try:
        deadline = time.monotonic() + min(seconds, LONGEST_S)
        while not ended(found) and time.monotonic() < deadline:
            time.sleep(min(_EVERY_S, max(deadline - time.monotonic(), 0.0)))
            found = look()
        return found
    finally:
        _places.release()
