"""Candidates from outside: another agent or a person posts them, and an open ask waits until one is there.

This says what an answer from outside looks like. Keeping what was posted and writing the answer into the log is the
driver's business; a driver that has no inbox gets an error, since nobody here writes candidates.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.steps import Answered, Ask, Candidate, History, TrajectorySettings


class External:
    """``posted`` is what lies in the inbox, oldest first."""

    name = "external"

    def __init__(self, posted: Sequence[Candidate] = ()) -> None:
        self._posted = tuple(posted)

    def answer(self, settings: TrajectorySettings, history: History, ask: Ask) -> Answered:
        """The oldest of what was posted, as many as were asked for."""
        candidates = self._posted[: ask.count]
        return Answered(ask.number, candidates, None if candidates else "nothing was posted")
