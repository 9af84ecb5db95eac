"""Semantic feedback: classify the bottleneck once, then run every tool of that class, always in the same order.

Pure: the same evidence gives the same findings. It measures nothing; what was not measured is None in the evidence, and
a tool that needs it is silent.
"""

from __future__ import annotations

from agent.feedback.case import Case
from agent.feedback.classify import classify
from agent.feedback.evidence import Evidence
from agent.feedback.record import Advice, Bottleneck, Classification, Finding, Severity
from agent.feedback.rendering import ranked, words
from agent.feedback.tools import FAILURES, TITLES, TOOLS
from kernels.harness.evaluation import Outcome

__all__ = [
    "FAILURES",
    "TITLES",
    "TOOLS",
    "Advice",
    "Bottleneck",
    "Classification",
    "Evidence",
    "Finding",
    "Severity",
    "classification",
    "findings",
    "ranked",
    "words",
]


def classification(evidence: Evidence) -> Classification:
    """The bottleneck of a candidate, by two votes."""
    return classify(Case(evidence))


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """What the tools have to say, in their order: those of its class of one that passed, else those for failures.

    A candidate that was not measured has none.
    """
    case = Case(evidence)
    if evidence.outcome is Outcome.PASSED:
        kind = classify(case).kind
        found = [tool.run(case) for tool in TOOLS if kind in tool.classes]
    else:
        found = [tool.run(case) for tool in FAILURES]
    return tuple(finding for finding in found if finding is not None)
