"""The record of an evaluation, and the request for one. Impossible combinations cannot be made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, get_args

from kernels.codegen.emission import Plan
from kernels.harness.baselines import BaselineKind
from kernels.harness.correctness import IncorrectReason, RoundErrors, reason_of
from kernels.harness.measures import Activity, Conditions
from kernels.problems.inspection import Signature
from kernels.targets import Policy


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


_NOT_DONE = "not done: "


@dataclass(frozen=True, slots=True)
class Check:
    """One measure of correctness: what was seen, the limit, and whether it holds. ``note`` says where or why.

    A check that was not ``done`` has neither passed nor failed; its note says why.
    """

    name: str
    seen: float | None
    limit: float | None
    passed: bool
    note: str = ""
    done: bool = True

    def __post_init__(self) -> None:
        if not self.done and (self.passed or not self.note):
            raise ImpossibleEvaluation(f"{self.name}: not done, but passed or without a reason")

    @property
    def failed(self) -> bool:
        """Whether it was done and does not hold."""
        return self.done and not self.passed

    @classmethod
    def modern_form(cls, form: Mapping[str, Any]) -> Mapping[str, Any]:
        """Before there was ``done``, a check that was skipped passed, with "not done" in its note."""
        note = str(form.get("note", ""))
        if "done" in form or not note.startswith(_NOT_DONE):
            return form
        return {**form, "passed": False, "done": False, "note": note.removeprefix(_NOT_DONE)}


_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of one subject, in seconds a call. ``samples`` are all calls, in order, after warm-up.

    ``subject`` is "candidate" or a baseline's full name ("torch eager"). ``method`` says how it was timed, and
    ``settings`` which of torch's it ran under, where they were searched. ``energy_j`` is in joules a call.
    ``agrees`` says whether a baseline's own outputs hold the candidate's tolerance; None where that was not asked.
    ``missing`` maps what was not measured of this subject ("activity", "energy") to the reason.
    """

    subject: str
    median_s: float
    q1_s: float
    q3_s: float
    minimum_s: float
    count: int
    samples: tuple[float, ...]
    method: str
    settings: str = ""
    agrees: bool | None = None
    agrees_note: str = ""
    activity: Activity | None = None
    conditions: Conditions | None = None
    energy_j: float | None = None
    energy_method: str = ""
    missing: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        times = (self.minimum_s, self.q1_s, self.median_s, self.q3_s)
        if not all(math.isfinite(time) and time > 0 for time in (*times, *self.samples)):
            raise ImpossibleEvaluation(f"{self.subject}: a time that is zero, negative or no number")
        if self.count != len(self.samples):
            raise ImpossibleEvaluation(f"{self.subject}: {self.count} calls, but {len(self.samples)} samples")
        # Interpolated between equal samples, a quartile may be off by a rounding.
        if any(low > high * (1 + _ROUNDING) for low, high in itertools.pairwise(times)):
            raise ImpossibleEvaluation(f"{self.subject}: minimum, quartiles and median are out of order")

    @property
    def spread(self) -> float | None:
        """Distance of the quartiles over the median (0.02 is 2 %); None of a median of nothing."""
        return (self.q3_s - self.q1_s) / self.median_s if self.median_s else None


@dataclass(frozen=True, slots=True)
class StageShare:
    """Time of one stage in one instrumented call, in seconds; ``library`` for torch.* stages, None for a module,
    of which nobody knows what it calls."""

    stage: str
    seconds: float
    library: bool | None


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it was measured: kind ("cpu" or "cuda"), the name, and facts worth keeping (cores, versions)."""

    kind: str
    name: str
    facts: dict[str, str]


@dataclass(frozen=True, slots=True)
class Isolation:
    """How the child was held: "bubblewrap", "unshare" or "process" and what each limit was.

    ``warm`` is whether it was forked from a process that had imported torch; None in records from before that.
    """

    method: str
    network: bool
    memory_limit_bytes: int | None
    note: str = ""
    warm: bool | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One candidate on one problem, once. Missing numbers are None: never 0 and never 1.

    ``conditions`` are the machine's over the whole timing; ``absent`` maps each baseline that was asked for and not
    measured to the reason. ``spent_s`` says how many of the ``wall_s`` seconds were not the harness's own: under
    "problem" its loading, inputs and reference, under "candidate" and each baseline's name the calls of it, under
    "waiting" what was waited for builds and timings of others here. ``reason`` is why it is incorrect, None in every
    other outcome; ``rounds`` are the rounds of correctness, as far as they went.
    """

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
    conditions: Conditions | None = None
    absent: dict[str, str] = field(default_factory=dict)
    spent_s: dict[str, float] = field(default_factory=dict)
    reason: IncorrectReason | None = None
    rounds: tuple[RoundErrors, ...] = ()

    def __post_init__(self) -> None:
        failed = any(check.failed for check in self.checks)
        if self.outcome is Outcome.PASSED:
            if self.candidate is None:
                raise ImpossibleEvaluation("passed, but there is no time of the candidate")
            if failed or not any(check.passed for check in self.checks):
                raise ImpossibleEvaluation("passed, but a check failed or none was done")
        elif self.candidate is not None or self.baselines or self.stages:
            raise ImpossibleEvaluation(f"{self.outcome.value}, but there are times")
        if self.outcome is Outcome.INCORRECT:
            if not failed or self.reason is None:
                raise ImpossibleEvaluation("incorrect, but no check failed or there is no reason")
        elif self.reason is not None:
            raise ImpossibleEvaluation(f"{self.outcome.value}, but with a reason for being incorrect")

    @classmethod
    def modern_form(cls, form: Mapping[str, Any]) -> Mapping[str, Any]:
        """Before there was ``reason``, the failed checks alone said it."""
        if form.get("outcome") != Outcome.INCORRECT or "reason" in form:
            return form
        failed = [check["name"] for check in form["checks"] if not check["passed"]]
        return {**form, "reason": reason_of(failed).value}

    @property
    def library_share(self) -> float | None:
        """Share of stage time spent in torch.* stages, 0 to 1; None where stages were not timed or are not known."""
        total = sum(stage.seconds for stage in self.stages)
        if not total or any(stage.library is None for stage in self.stages):
            return None
        return sum(stage.seconds for stage in self.stages if stage.library) / total

    @property
    def overhead_s(self) -> float | None:
        """Wall seconds beyond what ``spent_s`` accounts for; None where that was not recorded."""
        return self.wall_s - sum(self.spent_s.values()) if self.spent_s else None

    def baseline(self, name: str) -> Timing | None:
        """The timing of the baseline called ``name``."""
        return next((timing for timing in self.baselines if timing.subject == name), None)

    def speedup(self, name: str) -> float | None:
        """Baseline time over candidate time; None where either was not measured."""
        baseline = self.baseline(name)
        if baseline is None or self.candidate is None:
            return None
        return baseline.median_s / self.candidate.median_s


EAGER = BaselineKind.EAGER.full_name


@dataclass(frozen=True, slots=True)
class Tolerance:
    """When an output counts as right. ``relative`` scales with the reference's magnitude.

    ``against`` is the reference that decides: "own", in the problem's own precision, or "float64".
    """

    name: str
    relative: float
    absolute: float
    against: Literal["own", "float64"] = "float64"


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one evaluation's child: wall-clock seconds, memory bytes, bytes kept of what it prints.

    ``disk_bytes`` bounds each file that it writes, and all of them together where it has a /tmp of its own.
    ``build_seconds`` is how long a Python module may take to be imported and built, and its first call as well:
    it may compile.
    """

    seconds: float = 60.0
    memory_bytes: int = 8 * 2**30
    output_bytes: int = 1 * 2**20
    disk_bytes: int = 1 * 2**30
    build_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """A plan with what it launches: ``artifacts`` maps a unit's symbol to the path of its shared object."""

    plan: Plan
    artifacts: dict[str, str]
    kind: Literal["plan"] = "plan"


@dataclass(frozen=True, slots=True)
class ModuleCandidate:
    """Python source, as text, that defines a ``torch.nn.Module`` called ``class_name`` in KernelBench's form."""

    source: str
    class_name: str = "ModelNew"
    kind: Literal["module"] = "module"


Candidate = PlanCandidate | ModuleCandidate

FlushKind = Literal["read", "write"]
"""How L2 is flushed ahead of a card's timed calls (``kernels.harness.l2``)."""
FLUSHES: tuple[FlushKind, ...] = get_args(FlushKind)

_REPEATS = {"host": 30, "cuda": 100}


def repeats_for(device: str) -> int:
    """Timed calls that make a steady median on a device without taking long: a card's are short."""
    return _REPEATS[device]


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """Everything the supervisor needs.

    ``rounds`` of correctness have fresh inputs each, the last two of them scaled and shifted; at least 3 are made.
    ``baselines`` are what the candidate is timed beside; ``policy`` is the lowest precision that torch's best
    settings may use; ``energy`` asks for joules a call, which takes about 1 s a subject. ``flush`` "write" is what
    other benchmarks do between calls, for times that are to be held against theirs.
    """

    problem_path: str
    size: str
    signature: Signature
    candidate: Candidate
    device: str
    tolerance: Tolerance
    rounds: int = 5
    warmup: int = 3
    repeats: int = 30
    limits: Limits = Limits()
    baselines: tuple[BaselineKind, ...] = (BaselineKind.EAGER,)
    policy: Policy = Policy.STRICT
    energy: bool = False
    flush: FlushKind = "read"
