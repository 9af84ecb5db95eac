"""How a child that executes a subject can fail, and which outcome of its evaluation that is. No torch here."""

from __future__ import annotations

from typing import Any

from kernels.harness.evaluation import Outcome

_OUTCOMES = {
    Outcome.OUT_OF_MEMORY: {"out-of-memory"},
    Outcome.LAUNCH_ERROR: {
        "artifact-missing", "symbol-missing", "launch-failed", "torch-function-refused", "torch-call-failed",
        "result-mismatch", "plan-mismatch", "subject-raised", "constructor-raised", "forward-raised",
    },
    Outcome.REFUSED: {"source-not-python", "class-not-defined", "class-not-module"},
    Outcome.BUILD_ERROR: {"import-raised", "ninja-missing", "compiler-missing"},
    Outcome.INCORRECT: {"output-mismatch"},
}  # fmt: skip
"""What each error of ``kernels.harness.errors`` means that a child sends back; a crash where it is none of these."""


class SubjectFailed(Exception):
    """A child that gives no more answers, or said why it cannot; ``outcome`` is what its evaluation ends in.

    ``check`` names the check that failed with it, where the outcome is "incorrect".
    """

    def __init__(self, outcome: Outcome, detail: str, check: str = "") -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail
        self.check = check


class SubjectLost(SubjectFailed):
    """A child whose keeper was ended from outside: no fault of the subject's, and worth one more try."""


def told(name: str, answer: dict[str, Any], most: int) -> SubjectFailed:
    """What a child's own error means; of its words at most ``most`` characters are kept."""
    slug, detail = str(answer["error"]), str(answer.get("detail", ""))[:most]
    for outcome, slugs in _OUTCOMES.items():
        if slug in slugs:
            return SubjectFailed(outcome, detail, str(answer.get("check", "")))
    return SubjectFailed(Outcome.CRASH, f"{name}: {detail}")
