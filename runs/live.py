"""The cursor of a run's page: a few digits for each of its parts, so that a poll is answered with what changed alone.

Four digits each for head, panel and stream, then four a problem in the order of their keys.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from runs.board import Board, Row
from runs.presence import Now

_PART = 4


def _digits(*shown: object) -> str:
    return f"{zlib.crc32(repr(shown).encode()) & 0xFFFF:04x}"


def _by_key(board: Board) -> list[Row]:
    return sorted(board.rows, key=lambda row: row.trajectory.pk)


def cursor_of(board: Board, now: Now) -> str:
    """The state of everything on the page that can change by itself."""
    run = board.run
    head = _digits(
        run.state,
        run.reason,
        run.cancel_requested,
        run.attempts,
        run.pool,
        board.gap,
        board.speedup,
        board.ended,
        board.open,
        board.device,
    )
    panel = _digits(
        [(slot.worker, slot.doing, slot.subject, slot.since) for slot in now.slots],
        [(w.queue, w.count, w.why) for w in now.waiting],
        now.missing,
    )
    return (
        head
        + panel
        + _digits(board.ended, board.passed, board.held)
        + "".join(row.digest for row in _by_key(board))
    )


@dataclass(frozen=True, slots=True)
class Changes:
    """What a reader with an older cursor must be sent."""

    cursor: str
    head: bool
    panel: bool
    stream: bool
    rows: tuple[Row, ...]

    def __bool__(self) -> bool:
        return bool(self.head or self.panel or self.stream or self.rows)


def changes(board: Board, cursor: str, after: str) -> Changes:
    """Compare the board's own cursor with ``after``; everything has changed where that is not of this run's form."""
    if len(after) != len(cursor):
        return Changes(cursor, True, True, True, tuple(board.rows))
    parts = [cursor[i : i + _PART] == after[i : i + _PART] for i in range(0, len(cursor), _PART)]
    rows = tuple(row for row, same in zip(_by_key(board), parts[3:], strict=True) if not same)
    return Changes(cursor, not parts[0], not parts[1], not parts[2], rows)
