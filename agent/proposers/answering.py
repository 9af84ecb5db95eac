"""Which of its parent's open findings a move answers: what feedback is to a proposer without a model.

A finding is open while its advice was not tried often enough to be in vain. Nothing is ranked here.
"""

from __future__ import annotations

from dataclasses import replace

from agent.feedback import Finding, Severity, ranked
from agent.feedback.following import said
from agent.history import IMPROVEMENT, Attempt, State
from agent.proposers.moves.move import Move

_IN_VAIN = 2
"""So many children that followed a tool and were no faster, and its finding is closed."""

URGENCY = {Severity.CRITICAL: 1.25, Severity.WARNING: 1.25, Severity.NOTE: 1.0}
"""What the return of a move counts that answers a finding. Measured on synthetic costs (docs/feedback.md)."""


def open_findings(state: State, parent: Attempt | None) -> list[Finding]:
    """The parent's findings that still ask for something, the gravest first."""
    if parent is None or parent.result is None:
        return []
    return [finding for finding in ranked(parent.result.feedback) if _vain(state, parent, finding) < _IN_VAIN]


def marked(move: Move, findings: list[Finding]) -> Move:
    """The move with the name of the first tool whose advice it follows, and the finding's own words behind its own."""
    for finding in findings:
        if any(said(advice, move.change) for advice in finding.advice):
            hypothesis = f"{move.hypothesis.rstrip('.')} ({finding.tool}: {'; '.join(finding.evidence)})."
            return replace(move, tool=finding.tool, hypothesis=hypothesis, urgency=URGENCY[finding.severity])
    return move


def _vain(state: State, parent: Attempt, finding: Finding) -> int:
    own = state.steady_s(parent)
    children = (each for each in state.attempts if (each.candidate.parent or 1) == parent.number and each.result)
    tried = (state.steady_s(child) for child in children if child.candidate.tool == finding.tool)
    return sum(time_s is None or own is None or time_s > own * (1 - IMPROVEMENT) for time_s in tried)
