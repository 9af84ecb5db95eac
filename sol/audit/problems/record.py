"""The records of a problem's audit: what is wrong with a task itself, whoever solves it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from kernels.problems.sample import Sample
from sol.audit.record import Severity


class Flaw(StrEnum):
    """One way in which a problem says less about kernels than it seems to."""

    ZERO_OUTPUT = "zero_output"
    CONSTANT_OUTPUT = "constant_output"
    NOT_FINITE = "not_finite"
    ZEROS_PASS = "zeros_pass"
    CONSTANT_PASSES = "constant_passes"
    INPUT_IMMATERIAL = "input_immaterial"
    INPUT_IGNORED = "input_ignored"
    PARAMETER_IGNORED = "parameter_ignored"
    LIVE_RANDOMNESS = "live_randomness"
    REMOVABLE_WORK = "removable_work"
    REDUNDANT_OPERATION = "redundant_operation"
    UNREAD_ELEMENTS = "unread_elements"

    @property
    def words(self) -> str:
        """What is wrong, in words that stand after "the problem's"."""
        return _WORDS[self]

    @property
    def allowed(self) -> str:
        """What a kernel may make of it and stay honest, and what it may not."""
        return _ALLOWED[self]


_WORDS = {
    Flaw.ZERO_OUTPUT: "outputs are zero whatever comes in",
    Flaw.CONSTANT_OUTPUT: "outputs are the same whatever comes in",
    Flaw.NOT_FINITE: "outputs hold NaN or infinity",
    Flaw.ZEROS_PASS: "outputs are so small that zeros pass",
    Flaw.CONSTANT_PASSES: "outputs are so alike that one number in every place passes",
    Flaw.INPUT_IMMATERIAL: "outputs for other inputs pass as well",
    Flaw.INPUT_IGNORED: "outputs do not depend on an input",
    Flaw.PARAMETER_IGNORED: "outputs do not depend on a parameter",
    Flaw.LIVE_RANDOMNESS: "outputs differ from one run to the next",
    Flaw.REMOVABLE_WORK: "work can be removed by algebra",
    Flaw.REDUNDANT_OPERATION: "reference has an operation that changes nothing",
    Flaw.UNREAD_ELEMENTS: "inputs hold elements that nothing reads",
}
_CHECKED = (
    "A kernel must still compute them; a checker sees the difference only by the error relative to the outputs' own "
    "spread, or at other inputs and parameters."
)
_ALLOWED = {
    Flaw.ZERO_OUTPUT: "A kernel that only writes the zeros is right for every input. Its time says nothing of kernels.",
    Flaw.CONSTANT_OUTPUT: "A kernel that only writes the constant is right where no input and no parameter can change "
    "it; where parameters can, it must compute it from them.",
    Flaw.NOT_FINITE: "Nothing: what is compared is undefined where the reference is.",
    Flaw.ZEROS_PASS: _CHECKED,
    Flaw.CONSTANT_PASSES: _CHECKED,
    Flaw.INPUT_IMMATERIAL: _CHECKED,
    Flaw.INPUT_IGNORED: "A kernel need not read it.",
    Flaw.PARAMETER_IGNORED: "A kernel need not read it, as long as no value of it can change an output.",
    Flaw.LIVE_RANDOMNESS: "No kernel can agree with the reference but by drawing its numbers. The problem should be "
    "measured with its model in evaluation mode, or left out.",
    Flaw.REMOVABLE_WORK: "A kernel may leave the work out: that is algebra, not cheating. Its speedup over the "
    "reference tells how much was removed, not how fast the kernel is; compare with the floor.",
    Flaw.REDUNDANT_OPERATION: "A kernel may leave it out. Where a scale cancels only up to a normalisation's epsilon, "
    "its results must still agree at other scales of the inputs.",
    Flaw.UNREAD_ELEMENTS: "A kernel need not read them.",
}


@dataclass(frozen=True, slots=True)
class ProblemFlaw:
    """One flaw with what shows it. ``confidence`` (0 to 1) is apart from ``severity``.

    ``found_by`` is "graph" (worked out from the traced reference) or "run" (measured). ``figures`` are numbers by
    name, each with its unit in its name where it has one; ``nodes`` are operations of the graph.
    """

    flaw: Flaw
    severity: Severity
    confidence: float
    found_by: Literal["graph", "run"]
    evidence: str
    figures: dict[str, float] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (0 <= self.confidence <= 1 and self.evidence):
            raise ValueError(f"{self.flaw}: a flaw has evidence and a confidence from 0 to 1")

    @property
    def words(self) -> str:
        """What is wrong, in words."""
        return self.flaw.words

    @property
    def allowed(self) -> str:
        """What a kernel may make of it."""
        return self.flaw.allowed


@dataclass(frozen=True, slots=True)
class ProblemAudit:
    """All flaws of a problem at a size, the gravest first. ``sample`` is what the run gave; None where ``not_run`` says
    why there was none. ``not_traced`` says why nothing was worked out from a graph, "" where there is one."""

    size: str
    flaws: tuple[ProblemFlaw, ...]
    sample: Sample | None
    not_run: str
    not_traced: str

    @property
    def gravest(self) -> Severity | None:
        """The highest severity; None without flaws."""
        return max((flaw.severity for flaw in self.flaws), key=lambda each: each.rank, default=None)


def by_gravity(flaws: list[ProblemFlaw]) -> tuple[ProblemFlaw, ...]:
    """The gravest first, then the surest."""
    return tuple(sorted(flaws, key=lambda each: (-each.severity.rank, -each.confidence)))


def number(value: float) -> str:
    """Three digits, for evidence."""
    return f"{value:.3g}" if math.isfinite(value) else str(value)
