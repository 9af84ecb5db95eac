"""Pieces of context that several views share."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from agent.steps import FinishReason
from runs import figures
from runs.board import Board, Row
from runs.states import RunState, TrajectoryState

SHOWN = ("all", "open", "near")


def shown(name: str) -> str:
    """Which rows a reader asked for; all where the address says nothing known."""
    return name if name in SHOWN else "all"


def board_rows(board: Board, show: str) -> list[Row]:
    """The rows that the reader asked for."""
    if show == "open":
        return [row for row in board.rows if row.open]
    if show == "near":
        return [row for row in board.rows if row.near]
    return board.rows


def keys_of(text: str) -> tuple[int, ...]:
    """Keys with commas between them; what is none is left out."""
    return tuple(int(one) for one in text.split(",") if one.isascii() and one.isdigit() and len(one) < 19)


@dataclass(frozen=True, slots=True)
class Retryable:
    """What a retry would take up: problems that failed, attempts that were lost."""

    problems: int
    attempts: int

    def __bool__(self) -> bool:
        return bool(self.problems or self.attempts)

    @property
    def words(self) -> str:
        """Both with their numbers."""
        parts = [figures.counted(self.problems, "failed problem")] if self.problems else []
        return " and ".join([*parts, figures.counted(self.attempts, "lost attempt")] if self.attempts else parts)


def retryable(board: Board) -> Retryable:
    """What of a run could be retried; nothing of a cancelled one, whose way on is a clone."""
    if board.run.state == RunState.CANCELLED:
        return Retryable(0, 0)
    rows = [row for row in board.rows if row.trajectory.state != TrajectoryState.CANCELLED]
    failed = sum(
        row.trajectory.state == TrajectoryState.FAILED
        or row.trajectory.finish_reason == FinishReason.PROPOSER_FAILED
        for row in rows
    )
    return Retryable(failed, sum(row.tally.lost for row in rows))


def candidate_address(row: Row, number: int) -> str:
    """Where one attempt of a row is shown."""
    return reverse("candidate", args=[row.trajectory.run_id, row.trajectory.problem.slug, number])
