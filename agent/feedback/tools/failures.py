"""What the tools for failed candidates share: which outcomes they look at. It judges nothing."""

from __future__ import annotations

from typing import ClassVar

from agent.feedback.case import Case
from agent.feedback.tools.tool import Tool
from kernels.harness.evaluation import Outcome

TAIL = 600
"""Letters of a log that a finding keeps."""


class FailureTool(Tool):
    """A tool that looks at some outcomes alone, whatever the bottleneck."""

    outcomes: ClassVar[frozenset[Outcome]]

    def looks_at(self, case: Case) -> bool:
        """Whether the candidate ended so."""
        return case.evidence.outcome in self.outcomes


def last_lines(text: str, count: int = 6) -> str:
    """The end of a log, in at most TAIL letters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-count:])[-TAIL:]
