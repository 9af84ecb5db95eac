"""Pieces of context that several views share."""

from __future__ import annotations

from django.urls import reverse

from runs.board import Board, Row

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


def candidate_address(row: Row, number: int) -> str:
    """Where one attempt of a row is shown."""
    return reverse("candidate", args=[row.trajectory.run_id, row.trajectory.problem.slug, number])
