"""A candidate that ended its process, or whose launch failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from agent.feedback.case import MOVING, ROWS, Case, is_product
from agent.feedback.record import Advice, Severity
from agent.feedback.tools.failures import FailureTool, last_lines
from agent.feedback.tools.tool import Judgement, Sight
from kernels.harness.evaluation import Outcome


class Crashed(FailureTool):
    """The harness's words about the end."""

    name = "crashed"
    title = "Crashed"
    general = (
        "Check every index against its extent, the alignment of wide accesses, and the shared memory asked for."
    )
    outcomes: ClassVar[frozenset[Outcome]] = frozenset({Outcome.CRASH, Outcome.LAUNCH_ERROR})

    def trigger(self, case: Case) -> Sight | None:
        """Every one of them."""
        return Sight((last_lines(case.evidence.detail),)) if self.looks_at(case) else None

    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """Which of the two."""
        if case.evidence.outcome is Outcome.LAUNCH_ERROR:
            return Judgement(
                Severity.CRITICAL, "A kernel could not be launched: it asks for more than a block may have."
            )
        return Judgement(Severity.CRITICAL, "The candidate's process ended: it touched memory that it must not.")

    def recommend(self, case: Case, sight: Sight) -> Iterator[Advice]:
        """Smaller blocks for a launch that failed."""
        if case.evidence.outcome is not Outcome.LAUNCH_ERROR:
            return
        for stage in case.running:
            if is_product(stage):
                yield from case.knob(
                    stage, "stages", [(2,), (3,)], "Fewer tiles in flight ask for less shared memory."
                )
            elif stage.op in (*MOVING, *ROWS):
                yield from case.knob(stage, "threads", [(128,), (256,)], "Smaller blocks.")
