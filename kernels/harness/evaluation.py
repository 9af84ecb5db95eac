"""The record of an evaluation, and the request for one. Impossible combinations cannot be made."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernels.codegen.emission import Plan
from kernels.problems.inspection import Signature


class Outcome(StrEnum):
    """How one candidate ended. None of these is a flag or a verdict of a person."""

    PASSED = "passed"
    INCORRECT = "incorrect"
    REFUSED = "refused"
    BUILD_ERROR = "build_error"
    BUILD_TIMEOUT = "build_timeout"
    LAUNCH_ERROR = "launch_error"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    NOT_MEASURED = "not_measured"
    PROBLEM_ERROR = "problem_error"


class ImpossibleEvaluation(ValueError):
    """A record that contradicts itself, as passed without a time."""


@dataclass(frozen=True, slots=True)
class Check:
    """One measure of correctness: what was seen, the limit, and whether it holds. ``note`` says where or why."""

    name: str
    seen: float | None
    limit: float | None
    passed: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of one subject, in seconds a call. ``samples`` are all calls, in order, after warm-up.

    ``subject`` is "candidate" or a baseline's full name ("torch eager"). ``method`` says how it was timed.
    """

    subject: str
    median_s: float
    q1_s: float
    q3_s: float
    minimum_s: float
    count: int
    samples: tuple[float, ...]
    method: str


@dataclass(frozen=True, slots=True)
class StageShare:
    """Time of one stage in one instrumented call, in seconds; ``library`` for torch.* stages."""

    stage: str
    seconds: float
    library: bool


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it was measured: kind ("cpu" or "cuda"), the name, and facts worth keeping (cores, versions)."""

    kind: str
    name: str
    facts: dict[str, str]


@dataclass(frozen=True, slots=True)
class Isolation:
    """How the child was held: "bubblewrap", "unshare" or "process" and what each limit was."""

    method: str
    network: bool
    memory_limit_bytes: int | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One candidate on one problem, once. Missing numbers are None: never 0 and never 1."""

    outcome: Outcome
    detail: str
    checks: tuple[Check, ...]
    candidate: Timing | None
    baselines: tuple[Timing, ...]
    once_s: float | None
    stages: tuple[StageShare, ...]
    machine: Machine | None
    isolation: Isolation | None
    wall_s: float

    def __post_init__(self) -> None:
        if self.outcome is Outcome.PASSED:
            if self.candidate is None:
                raise ImpossibleEvaluation("passed, but there is no time of the candidate")
            if not self.checks or not all(check.passed for check in self.checks):
                raise ImpossibleEvaluation("passed, but a check is missing or failed")
        elif self.outcome is Outcome.INCORRECT:
            if all(check.passed for check in self.checks):
                raise ImpossibleEvaluation("incorrect, but no check failed")
        elif self.candidate is not None:
            raise ImpossibleEvaluation(f"{self.outcome.value}, but the candidate has a time")

    @property
    def library_share(self) -> float | None:
        """Share of stage time spent in torch.* stages, 0 to 1; None where stages were not timed."""
        total = sum(stage.seconds for stage in self.stages)
        if not total:
            return None
        return sum(stage.seconds for stage in self.stages if stage.library) / total

    def baseline(self, name: str) -> Timing | None:
        """The timing of the baseline called ``name``."""
        return next((timing for timing in self.baselines if timing.subject == name), None)

    def speedup(self, name: str) -> float | None:
        """Baseline time over candidate time; None where either was not measured."""
        baseline = self.baseline(name)
        if baseline is None or self.candidate is None:
            return None
        return baseline.median_s / self.candidate.median_s


EAGER = "torch eager"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """When an output counts as right. ``relative`` scales with the reference's magnitude."""

    name: str
    relative: float
    absolute: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one evaluation's child: wall-clock seconds, memory bytes, bytes of printed output."""

    seconds: float = 60.0
    memory_bytes: int = 8 * 2**30
    output_bytes: int = 1 * 2**20


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """Everything the supervisor needs. ``artifacts`` maps a unit's symbol to the path of its shared object."""

    problem_path: str
    size: str
    signature: Signature
    plan: Plan
    artifacts: dict[str, str]
    device: str
    tolerance: Tolerance
    rounds: int = 3
    warmup: int = 3
    repeats: int = 30
    limits: Limits = Limits()
