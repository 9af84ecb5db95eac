"""One look at a run for all who watch it: what a poll needs is worked out once in a while, not once a viewer.

A run of 250 problems takes a tenth of a second to look at, and fifty viewers ask twenty-five times a second. Within
``LIVE_FRESH_S`` they are told the same; each process looks for itself.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from django.conf import settings
from django.utils.safestring import SafeString

from runs import queries
from runs.board import Board, TimeSplit, board, time_split
from runs.live import cursor_of
from runs.models import Attempt, Run
from runs.presence import Now, now_of

_MOST = 16
"""Runs that are kept; the one looked at longest ago goes first."""
_MOST_TOLD = 64
"""Answers that are kept for others of a look; each names the cursor and the rows that somebody has."""
_OLDEST = 5
"""Times ``LIVE_FRESH_S`` beyond which a reader waits for the new look instead."""


class Glance:
    """A run as it was a moment ago, and who works on it; what only some polls need is worked out by the first."""

    def __init__(self, run: Run) -> None:
        self._run, self._lock = run, Lock()
        self.board: Board = board(run)
        self.now: Now = now_of(run)
        self.cursor = cursor_of(self.board, self.now)
        self._split: TimeSplit | None = None
        self._told: dict[str, SafeString] = {}
        self._stream: list[Attempt] | None = None

    @property
    def split(self) -> TimeSplit | None:
        """How the run's work divides. One query for all who ask."""
        self._look()
        return self._split

    @property
    def stream(self) -> list[Attempt]:
        """The newest ended attempts. One query for all who ask."""
        self._look()
        return self._stream or []

    def told(self, key: str, tell: Callable[[], SafeString]) -> SafeString:
        """What all who ask by this key are told: the first has it written. Two at once may both write it."""
        found = self._told.get(key)
        if found is None:
            found = tell()
            if len(self._told) < _MOST_TOLD:
                self._told[key] = found
        return found

    def _look(self) -> None:
        with self._lock:
            if self._stream is None:
                self._split, self._stream = time_split(self._run), queries.stream(self._run)


@dataclass
class _Kept:
    lock: Lock = field(default_factory=Lock)
    glance: Glance | None = None
    taken: float = 0.0


_kept: OrderedDict[int, _Kept] = OrderedDict()
_all = Lock()


def glance(run: Run) -> Glance:
    """The run as of at most ``LIVE_FRESH_S`` seconds ago. Who asks while somebody looks again is told the last look."""
    fresh: float = settings.LIVE_FRESH_S
    if fresh <= 0:
        return Glance(run)
    with _all:
        kept = _kept.setdefault(run.pk, _Kept())
        _kept.move_to_end(run.pk)
        while len(_kept) > _MOST:
            _kept.popitem(last=False)
    last = kept.glance
    if not kept.lock.acquire(blocking=last is None or time.monotonic() - kept.taken > _OLDEST * fresh):
        assert last is not None
        return last
    try:
        if kept.glance is None or time.monotonic() - kept.taken > fresh:
            kept.glance = Glance(run)
            kept.taken = time.monotonic()
        return kept.glance
    finally:
        kept.lock.release()
