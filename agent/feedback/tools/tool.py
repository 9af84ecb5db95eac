"""What a feedback tool is: trigger, analyse, recommend; one tool a file. The base puts the three together.

A tool reads the case and nothing else, and keeps nothing: the same case gives the same finding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from agent.feedback.case import Case
from agent.feedback.record import Advice, Bottleneck, Finding, Severity
from kernels.dsl.ir import Stage
from kernels.profiling.record import KernelProfile

MOST_ADVICE = 4
_LARGE_PART = 0.3
"""A kernel of a smaller share of all kernels' time has nothing critical about it."""

ALL = frozenset(Bottleneck)


@dataclass(frozen=True, slots=True)
class Sight:
    """What a trigger saw: its figures in words, where, and the one figure that the judgement goes by."""

    evidence: tuple[str, ...]
    stage: Stage | None = None
    kernel: KernelProfile | None = None
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """What it means. ``gain`` is a speedup of the whole candidate, with the sum that makes it."""

    severity: Severity
    cause: str
    gain: float | None = None
    arithmetic: str = ""


class Tool(ABC):
    """One tool. ``classes`` are the bottlenecks under which it looks; ``general`` is its advice where there is no
    program with knobs (CUDA C++, C++, Python), or no knob that would help."""

    name: ClassVar[str]
    title: ClassVar[str]
    classes: ClassVar[frozenset[Bottleneck]] = ALL
    general: ClassVar[str]

    @abstractmethod
    def trigger(self, case: Case) -> Sight | None:
        """What there is to say something about; None keeps the tool silent."""

    @abstractmethod
    def analyse(self, case: Case, sight: Sight) -> Judgement:
        """How grave it is, why, and what it costs."""

    @abstractmethod
    def recommend(self, case: Case, sight: Sight) -> Iterable[Advice]:
        """What to try, the best first; nothing means ``general``."""

    def run(self, case: Case) -> Finding | None:
        """The tool's finding about a case."""
        sight = self.trigger(case)
        if sight is None:
            return None
        judged = self.analyse(case, sight)
        part = case.kernel_share(sight.kernel) if sight.kernel is not None else None
        small = part is not None and part < _LARGE_PART and judged.severity is Severity.CRITICAL
        advice = tuple(self.recommend(case, sight))[:MOST_ADVICE] or (Advice(self.general),)
        return Finding(
            tool=self.name,
            severity=Severity.WARNING if small else judged.severity,
            cause=judged.cause,
            advice=advice,
            gain=judged.gain,
            arithmetic=judged.arithmetic,
            evidence=sight.evidence,
            stage=sight.stage.name if sight.stage is not None else "",
        )
