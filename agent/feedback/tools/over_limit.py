"""A candidate that ran out of time or memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from agent.feedback.case import Case
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.failures import FailureTool, last_lines
from agent.feedback.tools.fusable import fusable
from agent.feedback.tools.tool import Judgement, Sight
from kernels.harness.evaluation import Outcome


class OverLimit(FailureTool):
    """The limit in the harness's words."""

    name = "over-limit"
    title = "Over a limit"
    general = (
        "Look for a loop that does not end and a wait for something that never comes; free what is not used again."
    )
    outcomes: ClassVar[frozenset[Outcome]] = frozenset({Outcome.TIMEOUT, Outcome.OUT_OF_MEMORY})

    def trigger(self, case: Case) -> Sight | None:
        """Every one of them."""
        return Sight((last_lines(case.evidence.detail),)) if self.looks_at(case) else None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Which of the two."""
        memory = case.evidence.outcome is Outcome.OUT_OF_MEMORY
        return Judgement(Severity.CRITICAL, f"It was stopped at its limit of {'memory' if memory else 'time'}.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Fewer tensors between stages, where memory ran out."""
        if case.evidence.outcome is Outcome.OUT_OF_MEMORY:
            for stage, _ in fusable(case):
                yield from case.structure("fuse", stage, "Its operand would need no memory of its own.")
